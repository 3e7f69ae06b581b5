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
  });
})();
