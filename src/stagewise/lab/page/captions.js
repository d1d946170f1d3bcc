// The words of the plane: its caption and its keys.

const KEYS = [
  ["Page Up, Page Down", "select another point"],
  ["arrows", "move the selected point; with Shift in small steps"],
  ["N", "add a point"],
  ["C", "change the class of the selected point"],
  ["Delete", "remove the selected point"],
  ["Escape", "select no point"],
];
const HELP = KEYS.map(([key, effect]) => `${key}: ${effect}.`).join(" ");
const FULL = `The plane is full: it has room for ${MOST_POINTS} points.`;

/** What the plane shows, in words. */
function captionOf({ classes, view, round, points }) {
  if (!points.length) return "The plane is empty. Click it to add points, or press Reset.";
  if (view.show === "tree" && round === 0) return "There is no tree before the first round.";
  if (!classes) {
    return view.show === "tree"
      ? `Points: residuals before round ${round}. Line: the leaves of the tree; dashed: times ν, which is added to f. Points can be moved in the view "f".`
      : "Line: f. Thin lines: residuals y − f.";
  }
  return {
    f: "Colour: f, blue below 0 and orange above; the line is f = 0. Misclassified points have a strong edge.",
    sign: "Colour: the predicted class, sign f. Misclassified points have a strong edge.",
    tree: `Colour: what tree ${round} adds to f, relative to its largest leaf.`,
  }[view.show];
}
