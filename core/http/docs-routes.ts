import type { HttpApp } from './app.js'
import { docsPage } from './docs-page.js'
import { PreparedText } from './prepared-text.js'
import type { Route } from './route.js'
import { defineRoute } from './route.js'

const contentPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"

/** Returns the routes `GET /openapi.json` and `GET /docs` of an app. Each response is generated once per route table. */
export function docsRoutes(app: HttpApp): Route[] {
  const document = perDocument((openapi) => new PreparedText('json', JSON.stringify(openapi)))
  const page = perDocument((openapi) => new PreparedText('html', docsPage(openapi)))
  return [
    defineRoute({
      method: 'GET',
      path: '/openapi.json',
      summary: 'The OpenAPI document of this app',
      hidden: true,
      handler: (ctx) => document(app.openapi()).send(ctx),
    }),
    defineRoute({
      method: 'GET',
      path: '/docs',
      summary: 'The routes of this app as a page',
      hidden: true,
      handler: (ctx) => {
        ctx.set('Content-Security-Policy', contentPolicy)
        page(app.openapi()).send(ctx)
      },
    }),
  ]
}

/** Caches the text generated from the latest document. */
function perDocument(make: (openapi: object) => PreparedText): (openapi: object) => PreparedText {
  let latest: { readonly openapi: object; readonly text: PreparedText } | undefined
  return (openapi) => {
    if (latest?.openapi !== openapi) latest = { openapi, text: make(openapi) }
    return latest.text
  }
}
