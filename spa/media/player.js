// Plays sound and moving pictures, one clip at a time, and notes which parts were heard and seen at normal speed. The
// browser's own controls play; without this script they do so too, but nobody knows. form.js asks for what is left.
"use strict";

(() => {
  const form = document.querySelector("form[data-page]");
  const words = document.querySelector(".play-words")?.dataset;
  const clips = [...document.querySelectorAll(".clip")];
  const STUCK = 10000; // milliseconds without progress after which a clip counts as one that does not play
  const LATE = 0.5; // seconds by which a browser may tell of progress late
  const JOINED = 0.1; // seconds between two parts that are noted as one
  const MOST_PARTS = 40;

  document.querySelector(".play-script")?.remove();
  const earlier = JSON.parse(form?.dataset.reading || "{}");
  const unplayable = new Set(earlier.unplayable);
  const parts = new Map(); // by exhibit: [start, end] in seconds of the clip, in order and apart
  for (const [exhibit, times] of Object.entries(earlier.played ?? {})) {
    parts.set(exhibit, times.flatMap((time, at) => (at % 2 ? [] : [[time, times[at + 1]]])));
  }
  const rounded = (number) => Math.round(number * 100) / 100;
  const covered = (exhibit) => (parts.get(exhibit) ?? []).reduce((sum, [start, end]) => sum + end - start, 0);

  function add(exhibit, start, end) {
    const joined = [];
    for (const part of [...(parts.get(exhibit) ?? []), [start, end]].sort((one, other) => one[0] - other[0])) {
      const last = joined.at(-1);
      if (last && part[0] <= last[1] + JOINED) last[1] = Math.max(last[1], part[1]);
      else joined.push([...part]);
    }
    while (joined.length > MOST_PARTS) { // what is heard again is no loss
      const lengths = joined.map(([from, to]) => to - from);
      joined.splice(lengths.indexOf(Math.min(...lengths)), 1);
    }
    parts.set(exhibit, joined);
  }

  // What form.js asks for: how much was played of an exhibit (of what is no clip undefined), and the evidence.
  if (form) {
    const exhibits = new Set(clips.map((clip) => clip.closest("[data-exhibit]")?.dataset.exhibit));
    form.clips = {
      seconds: (exhibit) => (exhibits.has(exhibit) ? rounded(covered(exhibit)) : undefined),
      evidence() {
        const played = [...parts].map(([exhibit, own]) => [exhibit, own.flat().map(rounded)]);
        return {
          ...(played.length && { played: Object.fromEntries(played) }),
          ...(unplayable.size && { unplayable: [...unplayable] }),
        };
      },
    };
  }

  const inSight = new WeakSet();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) inSight[isIntersecting ? "add" : "delete"](target);
  }, { threshold: 0.5 });

  // The media that play together with another one: two films of a pair, of which the second is mute meanwhile.
  let together = [];

  let wanted = null; // what was to play last: it goes on when the connection is back

  function apart() {
    const [, second] = together;
    together = [];
    if (second) second.muted = false;
  }

  function watch(clip) {
    const media = clip.querySelector("audio, video");
    const article = clip.closest("[data-exhibit]");
    const { exhibit } = article?.dataset ?? {};
    const isFilm = media.tagName === "VIDEO";
    let last = null; // where the clip was when it was looked at last, and when; null where it did not count then
    let progressed = 0; // when it moved last
    let place = 0;

    const counts = () => !media.paused && !media.seeking && media.playbackRate === 1 && !media.muted && media.volume > 0
      && document.visibilityState === "visible" && (!isFilm || (media.videoWidth > 0 && inSight.has(media)));
    const wasPlayed = (time) => { // as the browser says
      for (let at = 0; at < media.played.length; at += 1) {
        if (media.played.start(at) <= time && time <= media.played.end(at)) return true;
      }
      return false;
    };
    const note = () => {
      const [now, at] = [performance.now(), media.currentTime];
      if (last && at > last.at && !media.seeking && wasPlayed((last.at + at) / 2)) {
        const passed = (now - last.now) / 1000;
        if (at - last.at <= 1.1 * passed + LATE) add(exhibit, last.at, at);
      }
      // a browser under load tells of no progress for a while, and then of all at once
      if (!exhibit || !counts()) last = null;
      else if (last?.at !== at) last = { now, at };
      if (at !== place || media.paused) [place, progressed] = [at, now];
      if (now - progressed > STUCK && navigator.onLine) offer();
      if (isFilm && !media.paused && at > 0.5 && media.videoWidth === 0) offer(); // sound without its pictures
      mark();
    };
    const mark = () => {
      const least = Number(article?.dataset.seconds ?? Infinity);
      const done = rounded(covered(exhibit)) >= least;
      if (done === clip.classList.contains("played")) return;
      clip.classList.toggle("played", done);
      if (done) form?.dispatchEvent(new Event("change")); // so that it is kept where the page is loaded again
    };

    // What to do where a clip does not play: try again, or go on without it.
    let box = null;
    const say = (text, ...buttons) => {
      if (!words) return;
      box ??= clip.appendChild(document.createElement("div"));
      box.className = "play-failed";
      box.setAttribute("role", "alert");
      box.dataset.chrome = "";
      const line = document.createElement("p");
      line.textContent = text;
      box.replaceChildren(line, ...buttons.map(([name, act]) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = name;
        button.addEventListener("click", act);
        return button;
      }));
    };
    const again = () => {
      const at = place;
      media.load();
      media.currentTime = at;
      progressed = performance.now();
      media.play().catch(() => {});
    };
    const giveUp = () => {
      media.pause();
      unplayable.add(exhibit);
      if ("seconds" in article.dataset) article.dataset.seconds = "0";
      say(words.noted, [words.again, again]);
      mark();
      form?.dispatchEvent(new Event("change"));
    };
    const offer = () => {
      if (box || !words) return;
      say(words.failed, [words.again, again], ...(exhibit && form ? [[words.not, giveUp]] : []));
    };
    const works = () => {
      if (!box || unplayable.has(exhibit)) return;
      box.remove();
      box = null;
    };

    for (const type of ["timeupdate", "playing", "pause", "seeking", "seeked", "ratechange", "volumechange", "waiting"]) {
      media.addEventListener(type, note);
    }
    media.addEventListener("playing", works);
    media.addEventListener("error", () => {
      last = null;
      offer();
    });
    media.addEventListener("ended", () => {
      note();
      // a browser that ends long before the clip does has not played it
      if (article && "seconds" in article.dataset && media.duration < Number(article.dataset.seconds)) offer();
    });
    window.addEventListener("online", () => {
      if (media.error && media === wanted) again();
    });
    document.addEventListener("visibilitychange", note);
    setInterval(() => { if (!media.paused) note(); }, 250);
    if (isFilm) observer.observe(media);
    if (unplayable.has(exhibit)) {
      if ("seconds" in article.dataset) article.dataset.seconds = "0";
      if (words) say(words.noted, [words.again, again]);
    }
    showCues(clip, media);
    mark();
  }

  // Browsers draw the captions of films, and none of sound.
  function showCues(clip, media) {
    const [track] = media.textTracks;
    if (!track || media.tagName === "VIDEO") return;
    const line = clip.appendChild(document.createElement("p"));
    line.className = "cues";
    line.dir = "auto";
    line.dataset.chrome = "";
    track.mode = "hidden"; // its cues are loaded
    track.addEventListener("cuechange", () => {
      const texts = [...(track.activeCues ?? [])].map((cue) => cue.getCueAsHTML().textContent);
      line.textContent = texts.join("\n");
    });
  }

  // Of sound beside its reference the next clip goes on where the one that played was, if they last equally long.
  function goOn(from, to) {
    if (!words || !("switched" in words) || from.paused || from.ended || to.tagName !== "AUDIO") return;
    const at = from.currentTime;
    const place = () => { if (Math.abs(to.duration - from.duration) < JOINED) to.currentTime = at; };
    if (to.readyState) place();
    else to.addEventListener("loadedmetadata", place, { once: true });
  }

  // Beside each clip, its labelled reference of sound is played and paused, too: on a long page it is out of sight.
  const reference = document.querySelector(".reference .clip audio");

  function offerReference(clip) {
    if (!reference || !words || clip.contains(reference)) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "play-reference";
    button.dataset.chrome = "";
    button.textContent = reference.getAttribute("aria-label");
    button.addEventListener("click", () => {
      if (reference.paused) reference.play().catch(() => {});
      else reference.pause();
    });
    const tell = () => button.setAttribute("aria-pressed", !reference.paused);
    for (const type of ["play", "pause", "ended"]) reference.addEventListener(type, tell);
    tell();
    clip.append(button);
  }

  document.addEventListener("play", ({ target }) => {
    wanted = target;
    if (together.length && !together.includes(target)) apart();
    for (const clip of clips) {
      const other = clip.querySelector("audio, video");
      if (other === target || together.includes(other)) continue;
      goOn(other, target);
      other.pause();
    }
  }, true);

  // Two films beside one another can be played in step; the first is heard.
  function offerBoth(columns) {
    const films = [...columns.querySelectorAll(".clip video")];
    if (films.length !== 2 || !words) return;
    const [first, second] = films;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "play-both";
    button.dataset.chrome = "";
    button.textContent = words.both;
    columns.before(button);
    button.addEventListener("click", () => {
      const from = first.ended || second.ended ? 0 : Math.min(first.currentTime, second.currentTime);
      together = films;
      second.muted = true;
      for (const film of films) {
        film.currentTime = from;
        film.play().catch(apart);
      }
    });
    const follow = () => {
      if (together[0] === first && !second.ended && Math.abs(first.currentTime - second.currentTime) > 0.15) {
        second.currentTime = Math.min(first.currentTime, second.duration || Infinity);
      }
    };
    for (const type of ["timeupdate", "seeked"]) first.addEventListener(type, follow);
    for (const [one, other] of [films, [second, first]]) {
      one.addEventListener("pause", () => {
        if (together[0] !== first || one.ended) return; // the longer one goes on
        apart();
        other.pause();
      });
      one.addEventListener("ended", () => { if (other.ended || other.paused) apart(); });
    }
  }

  clips.forEach(watch);
  clips.forEach(offerReference);
  document.querySelectorAll(".columns").forEach(offerBoth);
})();
