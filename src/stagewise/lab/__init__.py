"""The lab: a page on which students learn boosting."""
