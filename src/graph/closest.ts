export { closestId } from "../model/closest.ts";
