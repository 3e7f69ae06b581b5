(() => {
  const root = document.documentElement;
  const read = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const stored = read();
  if (stored === "dark" || stored === "light") root.dataset.theme = stored;
  root.dataset.js = "on";
  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.hidden = false;
      button.addEventListener("click", () => {
        const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
        root.dataset.theme = dark ? "light" : "dark";
        try { localStorage.setItem("theme", root.dataset.theme); } catch { /* private window: lasts for this page */ }
      });
    }
    const parts = { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" };
    const short = new Intl.DateTimeFormat(undefined, parts);
    const long = new Intl.DateTimeFormat(undefined, { ...parts, second: "2-digit" });
    for (const time of document.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (!Number.isNaN(at.getTime())) { time.title = time.textContent; time.textContent = ("short" in time.dataset ? short : long).format(at); }
    }
    for (const button of document.querySelectorAll("[data-copy]")) {
      const source = document.getElementById(button.dataset.copy);
      if (!source || !navigator.clipboard) continue;
      button.hidden = false;
      button.addEventListener("click", async () => {
        const before = button.textContent;
        try {
          await navigator.clipboard.writeText("value" in source ? source.value : source.textContent);
          button.textContent = "Copied";
        } catch { button.textContent = "Could not copy"; }
        setTimeout(() => { button.textContent = before; }, 2000);
      });
    }
    for (const form of document.querySelectorAll("form[data-confirm]")) {
      form.addEventListener("submit", (event) => { if (!confirm(form.dataset.confirm)) event.preventDefault(); });
    }
    document.querySelector(".error-summary")?.focus();
    const form = document.querySelector("form.test-form");
    if (form) {
      // Buttons that change rows: the server answers with the form as it should be, and its main part is put in place.
      form.addEventListener("submit", async (event) => {
        const button = event.submitter;
        if (!button || !("edit" in button.dataset) || form.dataset.plain) return;
        event.preventDefault();
        const sent = new FormData(form, button);
        form.inert = true;
        try {
          const reply = await fetch(button.formAction, { method: "POST", body: sent });
          const main = new DOMParser().parseFromString(await reply.text(), "text/html").querySelector(".form-main");
          if (!reply.ok || !main) throw new Error("no form came back");
          const old = form.querySelector(".form-main");
          for (const part of old.querySelectorAll("details[id]")) {
            const again = main.querySelector("#" + part.id);
            if (again && part.open) again.open = true;
          }
          old.replaceWith(document.adoptNode(main));
          document.querySelector(".error-summary")?.remove();
          form.inert = false;
          const target = document.getElementById(decodeURIComponent(new URL(button.formAction).hash.slice(1)));
          const folded = target?.closest("details:not([open])");
          if (folded) folded.open = true;
          target?.focus();
          target?.scrollIntoView({ block: "nearest" });
          form.querySelector("#form-status").textContent = button.dataset.edit;
          form.dispatchEvent(new Event("input", { bubbles: true }));
          for (const area of form.querySelectorAll("textarea[data-json-note]")) judge(area);
        } catch {
          // The long way round: the browser sends the form itself.
          form.inert = false;
          form.dataset.plain = "on";
          button.click();
        }
      });
      const judge = (area) => {
        const note = document.getElementById(area.dataset.jsonNote);
        if (!note) return;
        const type = document.getElementById(area.id.replace(/-body$/, "-content-type"))?.value ?? "";
        const text = area.value.trim();
        if (!text || !(/json/i.test(type) || /^[{[]/.test(text))) { note.textContent = ""; return; }
        try {
          // Places to fill in stand for some value, inside quotes and outside.
          JSON.parse(text.replace(/\{\{\s*[$\w][^{}]*\}\}|%\{[^}]*\}/g, "0"));
          note.textContent = type ? "This is JSON." : "This is JSON; its type is usually application/json.";
          note.className = "note good";
        } catch (error) {
          note.textContent = "This is not JSON (it is sent all the same): " + error.message;
          note.className = "note warn";
        }
      };
      form.addEventListener("input", (event) => {
        const area = event.target.closest?.(".body-kind")?.querySelector("textarea[data-json-note]");
        if (area) judge(area);
      });
      for (const area of form.querySelectorAll("textarea[data-json-note]")) judge(area);
    }
  });
})();
