// Browses segments: filters, sorts, searches, and shows one with its differences marked. Texts become text nodes only.
{
  const source = document.getElementById("data");
  const data = JSON.parse(source.textContent);
  source.remove(); // the text is not needed twice
  const [ID, MESSAGE, CONTEXT, REFERENCES, OUTPUTS, SCORES, BUCKETS, WHY, HIDDEN, FOUND] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
  const { segments, systems, cuts } = data;
  const single = systems.length === 1;
  const ROW = 60;
  const get = (id) => document.getElementById(id);
  const list = get("list");
  const sizer = get("sizer");
  const detail = get("detail");
  const form = get("filter");
  const [words, a, b, metric, show, bucket, finding, sort] = [
    "words", "a", "b", "metric", "show", "bucket", "finding", "sort",
  ].map(get);

  const make = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (name === "class") element.className = value;
      else if (value !== null) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };
  const number = (value, signed) => {
    if (value === null || Number.isNaN(value)) return "–";
    const text = Math.abs(value).toFixed(data.digits);
    const zero = Number(text) === 0;
    return (value < 0 && !zero ? "−" : signed && !zero ? "+" : "") + text;
  };

  // Words, for differences: runs of letters and digits, single characters of scripts without spaces, signs, spaces.
  const PIECES =
    /\s+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*|[\p{L}\p{N}\p{M}]+(?:[-'’][\p{L}\p{N}\p{M}]+)*|[^]/gu;
  const pieces = (text) => text.match(PIECES) ?? [];
  const isWord = (piece) => /\S/u.test(piece);
  const plain = (piece) => piece.toLowerCase();

  // Which words of one text are not in the longest common subsequence with another.
  const MOST_CELLS = 4_000_000;
  const own = (text, other) => {
    const one = pieces(text).filter(isWord);
    const two = pieces(other).filter(isWord);
    const wide = two.length + 1;
    if ((one.length + 1) * wide > MOST_CELLS) {
      const known = new Set(two);
      return one.map((word) => !known.has(word));
    }
    const longest = new Uint16Array((one.length + 1) * wide);
    for (let i = one.length - 1; i >= 0; i--)
      for (let j = two.length - 1; j >= 0; j--)
        longest[i * wide + j] =
          one[i] === two[j]
            ? longest[(i + 1) * wide + j + 1] + 1
            : Math.max(longest[(i + 1) * wide + j], longest[i * wide + j + 1]);
    const alone = one.map(() => true);
    for (let i = 0, j = 0; i < one.length && j < two.length; ) {
      if (one[i] === two[j]) {
        alone[i++] = false;
        j++;
      } else if (longest[(i + 1) * wide + j] >= longest[i * wide + j + 1]) i++;
      else j++;
    }
    return alone;
  };
  // A text in which words of one class stand in one mark, with the spaces between them.
  const marked = (text, classOf) => {
    const shown = [];
    let word = 0;
    let space = "";
    let last = null;
    for (const piece of pieces(text)) {
      if (!isWord(piece)) {
        space += piece;
        continue;
      }
      const kind = classOf(piece, word++);
      if (kind && last?.kind === kind) last.text += space + piece;
      else {
        if (space) shown.push({ kind: "", text: space });
        last = { kind, text: piece };
        shown.push(last);
      }
      space = "";
    }
    const tail = space ? [space] : [];
    return [...shown.map(({ kind, text: part }) => (kind ? make("mark", { class: kind }, part) : part)), ...tail];
  };
  const spoken = (text, children) => (text.trim() ? children : [make("i", null, "(empty)")]);

  const sides = () => [Number(a.value), Number(b.value)];
  const chosenMetric = () => Number(metric?.value ?? 0);
  const score = (segment, system) => segment[SCORES][chosenMetric()][system];
  const gap = (segment) => {
    const [one, other] = sides().map((system) => score(segment, system));
    return one === null || other === null ? NaN : one - other;
  };
  const better = (segment) => gap(segment) * (data.lower[chosenMetric()] ? -1 : 1);

  // Filters and order.
  const texts = []; // in small letters, made when a segment is first searched
  const searched = (place) => {
    const segment = segments[place];
    texts[place] ??= [
      segment[ID],
      segment[MESSAGE] ?? "",
      ...segment[CONTEXT],
      ...segment[OUTPUTS],
      ...segment[REFERENCES].map(([text]) => text),
    ]
      .join("\n")
      .toLowerCase();
    return texts[place];
  };
  const tests = {
    "": () => true,
    a: (segment) => better(segment) > 0,
    b: (segment) => better(segment) < 0,
    same: (segment) => gap(segment) === 0,
    differ: (segment) => segment[OUTPUTS][sides()[0]] !== segment[OUTPUTS][sides()[1]],
  };
  const KIND = 0, LEVEL = 1, SAID = 2, TEXTS = 3;
  const findingsOf = (segment) => segment[FOUND].flat();
  const serious = (segment) => findingsOf(segment).filter((found) => found[LEVEL] === "fail").length;
  const keys = {
    // Failing ones first, then the largest drop.
    findings: (segment) => -(serious(segment) * 1e6 + findingsOf(segment).length * 1e4) + (better(segment) || 0),
    apart: (segment) => -Math.abs(gap(segment)),
    a: (segment) => -better(segment),
    b: better,
    low: (segment) => score(segment, sides()[0]) ?? NaN,
    high: (segment) => -(score(segment, sides()[0]) ?? NaN),
    order: (_, place) => place,
  };
  let rows = []; // places of the segments that fit, in their order
  let current = 0; // place among the rows
  const fits = (place) => {
    const segment = segments[place];
    if (!tests[show.value](segment)) return false;
    if (bucket?.value) {
      const [cut, label] = bucket.value.split(" ").map(Number);
      const found = segment[BUCKETS][cut];
      if ((Array.isArray(found) ? found[sides()[0]] : found) !== label) return false;
    }
    if (finding?.value === "fail" && !serious(segment)) return false;
    if (finding?.value === "any" && !findingsOf(segment).length) return false;
    if (finding?.value.startsWith("=") && !findingsOf(segment).some((found) => found[KIND] === finding.value.slice(1)))
      return false;
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    return wanted.every((word) => searched(place).includes(word));
  };
  const refresh = () => {
    const before = rows[current];
    const keyOf = keys[sort.value];
    const fitting = segments.map((_, place) => place).filter(fits);
    const order = new Map(fitting.map((place) => [place, keyOf(segments[place], place)]));
    // What has no score comes last.
    const value = (place) => (Number.isNaN(order.get(place)) ? Infinity : order.get(place));
    rows = fitting.sort((one, other) => value(one) - value(other) || one - other);
    drawn.clear();
    sizer.replaceChildren();
    sizer.style.height = `${rows.length * ROW}px`;
    get("count").textContent =
      `${rows.length.toLocaleString("en")} of ${segments.length.toLocaleString("en")} segments` +
      (rows.length ? "" : ": nothing fits these filters");
    return before;
  };
  const update = () => {
    const before = refresh();
    list.scrollTop = 0;
    select(0, before !== rows[0]);
  };

  // The list: only rows that are seen exist.
  const drawn = new Map(); // from places among the rows to elements
  const row = (at) => {
    const segment = segments[rows[at]];
    const apart = gap(segment);
    const side = better(segment) > 0 ? "a" : better(segment) < 0 ? "b" : "";
    const about = segment[MESSAGE] ?? segment[OUTPUTS][sides()[0]];
    const element = make(
      "div",
      {
        class: "row",
        role: "option",
        id: `row-${at}`,
        "aria-setsize": rows.length,
        "aria-posinset": at + 1,
      },
      make(
        "div",
        null,
        make("span", { class: "id" }, segment[ID]),
        make("span", { class: `gap ${side}` }, single ? number(score(segment, 0)) : number(apart, true)),
      ),
      make("span", { class: "text", dir: "auto" }, about.slice(0, 200)),
    );
    element.style.transform = `translateY(${at * ROW}px)`;
    return element;
  };
  const drawRows = () => {
    const first = Math.max(Math.floor(list.scrollTop / ROW) - 4, 0);
    const last = Math.min(Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 4, rows.length);
    for (const [at, element] of drawn) {
      if (at >= first && at < last) continue;
      element.remove();
      drawn.delete(at);
    }
    let next = sizer.firstChild;
    for (let at = first; at < last; at++) {
      const element = drawn.get(at) ?? row(at);
      if (drawn.has(at)) next = element.nextSibling;
      else sizer.insertBefore(element, next);
      drawn.set(at, element);
      element.setAttribute("aria-selected", String(at === current));
    }
    if (rows.length) list.setAttribute("aria-activedescendant", `row-${current}`);
    else list.removeAttribute("aria-activedescendant");
  };
  let drawing = 0;
  const drawSoon = () => {
    cancelAnimationFrame(drawing);
    drawing = requestAnimationFrame(drawRows);
  };
  const select = (at, redraw = true) => {
    current = Math.max(0, Math.min(at, rows.length - 1));
    const top = current * ROW;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
    drawRows();
    if (redraw) detail.scrollTop = 0;
    drawDetail();
  };

  // One segment.
  let mode = "differences";
  let opened = false;
  const step = (weight) => Math.round(((weight + 1) / 2) * 20);
  const sign = (weight) => (weight > 0 ? "pos" : weight < 0 ? "neg" : "zero");
  const weightText = (weight) => {
    const rounded = Math.round(weight * 1000) / 1000;
    return (rounded > 0 ? "+" : rounded < 0 ? "−" : "") + Math.abs(rounded);
  };
  const isExplained = (segment) => segment[WHY].length > 0 && chosenMetric() === 0;
  // Where an output matched; places count characters, not halves of them.
  const matched = (segment, system, light) => {
    const letters = Array.from(segment[OUTPUTS][system]);
    const byPlace = new Map(segment[REFERENCES].map(([text, weight, place]) => [place - 1, { text, weight }]));
    const marks = segment[WHY][system][0];
    const [stride, first] = data.similar ? [5, 1] : [3, 0];
    const shown = [];
    let end = 0;
    for (let at = first; at < marks.length; at += stride) {
      const start = end + marks[at];
      const place = data.similar ? marks[0] : marks[at + 2];
      const reference = byPlace.get(place);
      const weight = data.weighted ? (reference?.weight ?? 0) : 1;
      const percent = data.similar ? marks[at + 4] : 100;
      const colour = data.similar ? percent / 100 : weight;
      const words = letters.slice(start, start + marks[at + 1]).join("");
      const near = data.similar && percent < 100;
      const other = data.similar
        ? Array.from(reference?.text ?? "").slice(marks[at + 2], marks[at + 2] + marks[at + 3]).join("")
        : "";
      const title = data.similar
        ? `“${words}” ${near ? `is near “${other}” (${(percent / 100).toFixed(2)})` : "is"} in #${place + 1}`
        : `“${words}” is in #${place + 1}` + (data.weighted ? `, which weighs ${weightText(weight)}` : "");
      const element = make(
        "span",
        { class: `run w${step(colour)} ${sign(colour)}${near ? " near" : ""}`, title, tabindex: "0" },
        words,
      );
      if (data.similar) {
        const found = [place, marks[at + 2], marks[at + 3]];
        for (const event of ["pointerenter", "focus"]) element.addEventListener(event, () => light(found));
        for (const event of ["pointerleave", "blur"]) element.addEventListener(event, () => light(null));
      }
      const label = near
        ? (percent / 100).toFixed(2)
        : data.similar
          ? ""
          : data.weighted
            ? weightText(weight)
            : `#${place + 1}`;
      shown.push(letters.slice(end, start).join(""), element);
      if (label) shown.push(make("small", { class: "label" }, label));
      end = start + marks[at + 1];
    }
    return [...shown, letters.slice(end).join("")];
  };
  const reasons = (segment, system) => {
    const [, sentence, numbers] = segment[WHY][system];
    const values = numbers.split(" ");
    return data.sentences[sentence].replace(/\u0001/g, () => values.shift()).split("\n");
  };
  // Which words of a text a finding is about.
  const inFindings = (text, found) => {
    const ranges = found
      .flatMap((each) => each[TEXTS])
      .filter(Boolean)
      .map((part) => [text.indexOf(part), part.length])
      .filter(([start]) => start >= 0);
    if (!ranges.length) return [];
    let at = 0;
    const hit = [];
    for (const piece of pieces(text)) {
      if (isWord(piece)) hit.push(ranges.some(([start, length]) => at < start + length && at + piece.length > start));
      at += piece.length;
    }
    return hit;
  };
  const findingList = (segment, system) => {
    const found = segment[FOUND][system] ?? [];
    if (!found.length) return [];
    const items = found.map((each) =>
      make("li", { class: each[LEVEL] }, make("b", null, `${each[LEVEL]}: ${each[KIND]}`), ` ${each[SAID]}`),
    );
    return [make("ul", { class: "findings", "aria-label": "findings" }, ...items)];
  };
  const outputOf = (segment, system, against, side, light) => {
    const text = segment[OUTPUTS][system];
    if (mode === "matches" && isExplained(segment)) return spoken(text, matched(segment, system, light));
    const alone = own(text, segment[OUTPUTS][against]);
    const found = inFindings(text, segment[FOUND][system] ?? []);
    return spoken(
      text,
      marked(text, (_, place) => [alone[place] ? side : "", found[place] ? "finding" : ""].filter(Boolean).join(" ")),
    );
  };
  const card = (segment, system, against, side, light) => {
    const found = make(
      "section",
      { class: `system ${side}`, "aria-label": systems[system] },
      make(
        "h4",
        null,
        make("span", null, systems[system]),
        make("span", { class: "score" }, number(score(segment, system))),
      ),
      make("p", { class: "output", dir: "auto" }, ...outputOf(segment, system, against, side, light)),
      ...findingList(segment, system),
    );
    if (isExplained(segment)) {
      const why = make("details", { class: "why" }, make("summary", null, `Why ${number(score(segment, system))}`));
      why.open = opened;
      why.append(...reasons(segment, system).map((line) => make("p", null, line)));
      why.addEventListener("toggle", () => (opened = why.open));
      found.append(why);
    }
    return found;
  };
  const weightOf = (weight) =>
    make("span", { class: `weight w${step(weight)} ${sign(weight)}` }, weightText(weight));
  const drawDetail = () => {
    const segment = segments[rows[current]];
    if (!segment) {
      detail.replaceChildren();
      return;
    }
    const [one, other] = sides();
    const sets = [one, other].map((system) => new Set(pieces(segment[OUTPUTS][system]).map(plain)));
    const kindOf = (piece) => {
      const [inOne, inOther] = sets.map((set) => set.has(plain(piece)));
      return inOne && inOther ? "both" : inOne ? "a" : inOther ? "b" : "";
    };
    const references = segment[REFERENCES].map(([text, weight, place]) => {
      const body = make("span", { class: "text", dir: "auto" });
      const element = make(
        "li",
        null,
        make("span", { class: "number" }, `#${place}`),
        ...(weight === null ? [] : [weightOf(weight)]),
        body,
      );
      return { text, place: place - 1, body, element };
    });
    const light = (found) => {
      for (const { text, place, body } of references) {
        if (found?.[0] === place) {
          const letters = Array.from(text);
          const [, start, length] = found;
          body.replaceChildren(
            letters.slice(0, start).join(""),
            make("mark", { class: "found" }, letters.slice(start, start + length).join("")),
            letters.slice(start + length).join(""),
          );
        } else {
          const bare = mode === "matches" && isExplained(segment);
          body.replaceChildren(...spoken(text, bare ? [text] : marked(text, kindOf)));
        }
      }
    };
    light(null);
    const buttons = [
      ["differences", "differences"],
      ["matches", "what matched"],
    ].map(([name, text]) => {
      const button = make("button", { type: "button", "aria-pressed": String(mode === name) }, text);
      button.addEventListener("click", () => {
        turn(name);
        detail.querySelector(".bar-buttons [aria-pressed=true]").focus();
      });
      return button;
    });
    const others = systems
      .map((_, system) => system)
      .filter((system) => system !== one && system !== other)
      .map((system) => {
        const button = make("button", { type: "button", title: "compare with A" }, systems[system]);
        button.addEventListener("click", () => {
          b.value = String(system);
          const place = rows[current];
          refresh();
          select(Math.max(rows.indexOf(place), 0));
        });
        return make(
          "li",
          null,
          make("span", null, button),
          make("span", { class: "score" }, number(score(segment, system))),
          make("span", { class: "text", dir: "auto" }, ...outputOf(segment, system, one, "other", light)),
        );
      });
    const legend =
      mode === "matches" && isExplained(segment)
        ? [
            data.similar
              ? "Words that met one of the best reference; dashes: near, with the similarity."
              : data.weighted
                ? "What matched, with the weight of its reference."
                : "What matched, with the number of its reference.",
          ]
        : single
          ? []
          : [
              make("mark", { class: "a" }, `only ${systems[one]}`),
              make("mark", { class: "b" }, `only ${systems[other]}`),
            ];
    detail.replaceChildren(
      make(
        "h3",
        null,
        make("span", null, make("span", { class: "kind" }, "segment "), make("bdi", null, segment[ID])),
        ...(single
          ? []
          : [make("span", { class: "score" }, make("span", { class: "kind" }, "A − B "), number(gap(segment), true))]),
      ),
      make(
        "div",
        { class: "bar-buttons" },
        ...(isExplained(segment) ? ["Mark", ...buttons] : []),
        ...legend,
      ),
      ...(segment[CONTEXT].length
        ? [
            make(
              "details",
              { class: "context" },
              make("summary", null, `context (${segment[CONTEXT].length})`),
              ...segment[CONTEXT].map((text) => make("p", { dir: "auto" }, text)),
            ),
          ]
        : []),
      ...(segment[MESSAGE] === null ? [] : [make("blockquote", { dir: "auto" }, segment[MESSAGE])]),
      make(
        "div",
        { class: "systems" },
        card(segment, one, other, "a", light),
        ...(one === other ? [] : [card(segment, other, one, "b", light)]),
      ),
      make("h4", null, references.length === 1 ? "Reference" : "References"),
      make("ol", { class: "references" }, ...references.map(({ element }) => element)),
      ...(segment[HIDDEN] ? [make("p", { class: "about" }, `… and ${segment[HIDDEN]} that are not shown here`)] : []),
      ...(others.length ? [make("h4", null, "Other systems", ...(legend.length > 1 ? [make("span", { class: "kind" }, ` — marked: what ${systems[one]} does not say`)] : [])), make("ul", { class: "others" }, ...others)] : []),
    );
  };
  const turn = (name) => {
    mode = name;
    drawDetail();
  };

  // Events.
  if (bucket)
    cuts.forEach(({ by, labels, shared }, cut) => {
      const group = make("optgroup", { label: shared ? by : `${by} of A` });
      labels.forEach((label, place) => group.append(make("option", { value: `${cut} ${place}` }, label)));
      bucket.append(group);
    });
  const move = (key) => {
    const page = Math.max(Math.floor(list.clientHeight / ROW) - 1, 1);
    const to = { ArrowDown: current + 1, ArrowUp: current - 1, j: current + 1, k: current - 1, PageDown: current + page,
      PageUp: current - page, Home: 0, End: rows.length - 1 }[key];
    if (to === undefined) return false;
    select(to);
    return true;
  };
  list.addEventListener("scroll", drawSoon, { passive: true });
  list.addEventListener("click", (event) => {
    const chosen = event.target.closest(".row");
    if (chosen) select(Number(chosen.id.slice(4)));
  });
  list.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey && move(event.key)) event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) {
      if (event.key === "Escape") list.focus();
      return;
    }
    if (event.key === "/") words.focus();
    else if (event.key === "m" && rows.length && isExplained(segments[rows[current]]))
      turn(mode === "matches" ? "differences" : "matches");
    else if (event.key !== "j" && event.key !== "k") return;
    else move(event.key);
    event.preventDefault();
  });
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(update)); // after the fields have changed
  new ResizeObserver(drawSoon).observe(list);
  get("browser").hidden = false;
  update();
}
