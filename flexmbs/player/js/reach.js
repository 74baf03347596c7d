// Makes horizontally scrolling boxes reachable by keyboard.

/** @param {string} boxes selector */
export function reached(boxes) {
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries)
      if (target.scrollWidth > target.clientWidth)
        for (const [name, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", "scrolls horizontally"]]) target.setAttribute(name, value);
      else for (const name of ["tabindex", "role", "aria-label"]) target.removeAttribute(name);
  });
  for (const box of document.querySelectorAll(boxes)) observer.observe(box);
}
