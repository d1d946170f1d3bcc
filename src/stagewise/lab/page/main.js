// The page: its panels, one redraw for each frame, and the theme.

function start() {
  const lab = new Lab(JSON.parse(document.getElementById("examples").textContent));
  const colours = new Colours();
  const plane = new Plane(lab, colours);
  const panels = [new CurvesPanel(lab), new MarginsPanel(lab), new TreePanel(lab), new PointPanel(lab)];
  let frame = 0;
  const redraw = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      plane.resize();
      plane.draw();
      for (const panel of panels) panel.move();
    });
  };
  const repaint = () => {
    colours.read();
    redraw();
  };
  const theme = themeButton(repaint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  const bar = roundsBar(lab, redraw);
  const [curves, margins, tree, point] = panels.map((panel) => panel.element);
  document.body.replaceChildren(
    h("a", { class: "skip", href: "#plane" }, "Skip to the plane"),
    h("header", { class: "top" }, brandMark(), h("h1", {}, "Boosting lab"),
      h("p", {}, "f grows by one small tree in every round. Move the slider, drag points, change the method."), theme),
    h("main", { class: "lab" },
      h("div", { class: "side" }, settingsPanel(lab)),
      h("div", { class: "middle", id: "plane" },
        h("section", { class: "panel stage", "aria-label": "Plane" }, viewBar(lab, redraw), plane.element, plane.caption, bar), tree),
      h("div", { class: "charts" }, curves, margins, point)),
  );
  lab.on("fit", () => {
    for (const panel of panels) panel.refit();
    redraw();
  });
  lab.on("points", redraw);
  lab.on("work", () => document.documentElement.toggleAttribute("data-ready", !lab.running));
  lab.emit("settings");
  new ResizeObserver(redraw).observe(plane.element);
}

start();
