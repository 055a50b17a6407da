import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { VERSION } from "../../runtime/version.ts";
import { type Env, fails, json } from "../api.ts";
import { urlPath } from "../paths.ts";

const document = createRoute({
  method: "get",
  path: "/v1/openapi.json",
  operationId: "getDocument",
  summary: "This description, as OpenAPI 3.1",
  responses: { 200: json(z.record(z.string(), z.unknown()), "The description"), ...fails<never>() },
});

/** The route that describes the routes of `app`. */
export function documentRoutes(app: OpenAPIHono<Env>) {
  return new OpenAPIHono<Env>().openapi(document, (c) => {
    const mount = urlPath(c.req.path.slice(0, -document.path.length));
    const description = app.getOpenAPI31Document({
      openapi: "3.1.0",
      info: {
        title: "superstep",
        version: VERSION,
        description: "Durable graph workflows. Values are JSON in which what JSON does not have is tagged: " +
          "`$undefined`, `$number`, `$bigint`, `$date`, `$map`, `$set`, `$bytes`, `$typed`, `$plain`.",
      },
      servers: [{ url: mount === "" ? "/" : mount }],
    });
    return c.json({ ...description } as Record<string, unknown>, 200);
  });
}
