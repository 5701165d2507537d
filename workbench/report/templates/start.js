themes();
document.querySelectorAll("[data-copy]").forEach((button) => copying(button));
document.querySelectorAll("table[data-sortable]").forEach(sortable);
document.querySelectorAll(".frame").forEach(continuing);
rankingTable();
drillDown().then(() => { document.documentElement.dataset.ready = "yes"; }, () => { byId("queries-failed").hidden = false; });
