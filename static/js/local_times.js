// Times in the time zone of the browser; the server writes them in the site's.

const timeFormat = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const fullFormat = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "full", timeStyle: "short" });

const showLocalTimes = () => {
  document.querySelectorAll(".card time[datetime]:not([title])").forEach((element) => {
    const time = new Date(element.dateTime);
    element.textContent = timeFormat.format(time);
    element.title = fullFormat.format(time);
  });
};

showLocalTimes();
["htmx:afterSwap", "htmx:wsAfterMessage"].forEach((name) => document.addEventListener(name, showLocalTimes));
