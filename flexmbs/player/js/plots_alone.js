// Starts the plots of a page without a player.
import { followed } from "./plots.js";

followed(document.getElementById("flexmbs-plots")?.textContent ?? "");
