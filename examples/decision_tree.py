"""A single decision tree: grow it, prune it, show it."""

from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from stagewise import DecisionTreeClassifier, export_svg, export_text, rules

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

small = DecisionTreeClassifier(pruning="cost_complexity", one_standard_error=True)
trees = {
    "grown to the end": DecisionTreeClassifier(),
    "by information gain": DecisionTreeClassifier(criterion="entropy"),
    "pruned by folds": DecisionTreeClassifier(pruning="cost_complexity"),
    "one standard error": small,
    "reduced error": DecisionTreeClassifier(pruning="reduced_error"),
    "stopped early": DecisionTreeClassifier(pruning="early_stopping"),
}
for name, tree in trees.items():
    score = tree.fit(X_train, y_train).score(X_test, y_test)
    print(
        f"{name:20s} {tree.get_n_leaves():3d} leaves, depth {tree.get_depth()}, "
        f"accuracy {score:.3f}"
    )

print(export_text(small, show_gain=True, show_impurity=True))
for rule in rules(small):
    print(f"{rule['weight']:4.0f} rows: {rule['class']:9s} if {rule['rule']}")
Path("tree.svg").write_text(export_svg(small), encoding="utf-8")
