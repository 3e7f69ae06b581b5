// Loads the bundle, then wakes islands in document order: an island before the islands among its children.
const here = document.getElementById("islands").dataset;
const bundle = await import(here.js);
await bundle.default({ module_or_path: here.wasm });
bundle.hydrate();
const waiting = [];
const wake = (node) => {
  const tag = node.localName;
  if (tag === "leptos-children") waiting.push(node.$$on_hydrate);
  if (tag === "leptos-island") {
    const start = bundle[node.dataset.component];
    const enter = waiting.at(-1);
    if (enter) enter();
    if (start) start(node);
    else console.warn("no such island: " + node.dataset.component);
  }
  for (const child of [...node.children]) wake(child);
  if (tag === "leptos-children") waiting.pop();
};
wake(document.body);
document.documentElement.dataset.islands = "ready";
