import { storeSuite } from "../../src/testing/store_suite.ts";
import { openMemory } from "../support/stores.ts";

storeSuite("memory", { open: openMemory });
