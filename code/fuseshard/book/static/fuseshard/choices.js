// Shows the option that a reader picks. Everything is in the page; without scripts all of it shows.
(() => {
  "use strict";

  function connect(choice) {
    const control = choice.querySelector(":scope > .fs-control :is(select, input)");
    const picked = choice.querySelector(":scope > .fs-control .fs-picked");
    const options = [...choice.querySelectorAll(":scope > .fs-option")];

    function show() {
      const index = Number(control.value);
      options.forEach((option, i) => option.classList.toggle("fs-seen", i === index));
      if (picked) {
        picked.textContent = options[index].dataset.label;
        control.setAttribute("aria-valuetext", options[index].dataset.label);
      }
      dispatchEvent(new Event("resize")); // a figure drawn while hidden learns its width
    }

    control.addEventListener("input", show);
    show(); // browsers may restore a control's last value
  }

  document.querySelectorAll(".fs-choice").forEach(connect);
})();
