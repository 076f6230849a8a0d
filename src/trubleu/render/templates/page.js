"use strict";
// Words that belong to the same n-grams, or met each other, light up together. Nothing is fetched and nothing is stored.
const sections = [...document.querySelectorAll(".system")].flatMap((section) => {
  const parts = [...section.querySelectorAll(".compared")];
  return parts.length ? parts : [section];
});
for (const section of sections) {
  const status = section.querySelector(".status") ?? document.getElementById("status");
  const idle = status.textContent;
  const words = [...section.querySelectorAll(".output .t, .words .t")];
  const marked = [...section.querySelectorAll("[data-g]")];
  const holders = new Map(); // from an n-gram to the elements that belong to it
  for (const element of marked)
    for (const gram of element.dataset.g.split(" ")) holders.set(gram, [...(holders.get(gram) ?? []), element]);
  let lit = [];
  let pinned = null; // what was tapped or clicked stays lit until something else is, or Escape

  const light = (element) => {
    for (const other of lit) other.classList.remove("lit");
    lit = element ? element.dataset.g.split(" ").flatMap((gram) => holders.get(gram)) : [];
    for (const other of lit) other.classList.add("lit");
    status.textContent = (element && element.title) || idle;
  };
  const pin = (element) => {
    pinned = element;
    light(pinned);
  };
  const target = (event) => event.target.closest("[data-g]");

  section.addEventListener("pointerover", (event) => light(target(event) ?? pinned));
  section.addEventListener("pointerleave", () => light(pinned));
  section.addEventListener("focusin", (event) => target(event) && light(target(event)));
  section.addEventListener("focusout", () => light(pinned));
  section.addEventListener("click", (event) => {
    const element = target(event);
    if (element) pin(element === pinned ? null : element);
  });

  // One stop for Tab; the arrow keys go from word to word.
  words.forEach((word, place) => (word.tabIndex = place ? -1 : 0));
  section.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return pin(null);
    if (!words.includes(event.target)) return undefined;
    const ahead = getComputedStyle(event.target).direction === "rtl" ? -1 : 1;
    const step = { ArrowRight: ahead, ArrowLeft: -ahead }[event.key];
    const next = step && words[words.indexOf(event.target) + step];
    if (!next) return undefined;
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    return event.preventDefault();
  });
}

// Tables that are wider than their box say so.
const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const box = target.closest(".scroll");
    box.toggleAttribute("data-wide", box.scrollWidth > box.clientWidth + 1);
  }
});
for (const table of document.querySelectorAll(".scroll, .scroll > table")) widths.observe(table);
