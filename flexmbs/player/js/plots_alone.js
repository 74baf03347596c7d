// Starts the plots of a page without a player.
import { followed } from "./plots.js";
import { reached } from "./reach.js";

reached(".scroll, figure.field");
followed(document.getElementById("flexmbs-plots")?.textContent ?? "");
