// The console: watch, write and steer continuous queries. Nothing here talks to anybody but the server it came from.

import { render } from "preact";
import { lookAtSession } from "./api";
import { App } from "./app";
import { connect } from "./events/connection";
import { lookAtVocabulary } from "./prefixes";
import { copyWhole } from "./terms";
import { applyTheme } from "./theme";

applyTheme();
copyWhole();
const place = document.getElementById("console");
if (place) render(<App />, place);
void lookAtSession();
void lookAtVocabulary();
connect();
