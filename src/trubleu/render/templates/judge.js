// Filters and sorts what is on the page. Without this script everything is listed, the largest disagreement first.
{
  const form = document.getElementById("filter");
  if (form) {
    const STEP = 25;
    const place = document.getElementById("observations");
    const more = document.getElementById("more");
    const [words, pair, kind, sort] = ["words", "pair", "kind", "sort"].map((name) => document.getElementById(name));
    const entries = [...place.children].map((element) => {
      const references = [...element.querySelectorAll(".more .text")].map((text) => text.textContent);
      return { element, data: element.dataset, text: [element.dataset.search, ...references].join("\n").toLowerCase() };
    });
    const names = new Intl.Collator(undefined, { numeric: true });
    const orders = {
      disagreement: (a, b) => a.data.rank - b.data.rank,
      metric: (a, b) => b.data.metric - a.data.metric || a.data.rank - b.data.rank,
      rating: (a, b) => b.data.rating - a.data.rating || a.data.rank - b.data.rank,
      id: (a, b) => names.compare(a.data.id, b.data.id) || a.data.rank - b.data.rank,
    };
    let limit = STEP;
    let order = "disagreement";

    const show = () => {
      const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      const kinds = kind.value.split(" ").filter(Boolean);
      if (order !== sort.value) {
        order = sort.value;
        place.append(...entries.sort(orders[order]).map((entry) => entry.element));
      }
      let found = 0;
      for (const { element, data, text } of entries) {
        const fits =
          (!pair.value || data.pair === pair.value) &&
          (!kinds.length || kinds.includes(data.kind)) &&
          wanted.every((word) => text.includes(word));
        found += fits;
        element.hidden = !fits || found > limit;
      }
      const shown = Math.min(found, limit);
      document.getElementById("none").hidden = found > 0;
      document.getElementById("count").textContent =
        `${shown} shown of ${found} that fit, of ${entries.length} on this page`;
      more.hidden = found <= limit;
      more.textContent = `Show ${Math.min(STEP, found - shown)} more`;
    };
    const start = () => {
      limit = STEP;
      show();
    };
    form.addEventListener("input", start);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(start)); // after the fields have changed
    more.addEventListener("click", () => {
      const before = limit;
      limit += STEP;
      show();
      // The next one is where reading goes on, also for who came here by keyboard.
      const next = entries.filter((entry) => !entry.element.hidden)[before]?.element;
      if (next) {
        next.tabIndex = -1;
        next.focus();
      }
    });
    form.hidden = false;
    show();
  }
}
