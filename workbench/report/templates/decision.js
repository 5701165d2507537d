// Copy the summary, a command, or a table, whose text is made when it is copied.
function copying(button, made = () => button.dataset.copy) {
  const label = button.textContent;
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(made()); button.textContent = "Copied"; } catch { button.textContent = "Not copied"; }
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}
