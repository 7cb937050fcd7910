import type { HttpApp } from './app.js'
import { docsPage } from './docs-page.js'
import type { Route } from './route.js'
import { defineRoute } from './route.js'

const contentPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"

/** `GET /openapi.json` and `GET /docs` of an app. */
export function docsRoutes(app: HttpApp): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/openapi.json',
      summary: 'The OpenAPI document of this app',
      hidden: true,
      handler: () => app.openapi(),
    }),
    defineRoute({
      method: 'GET',
      path: '/docs',
      summary: 'The routes of this app as a page',
      hidden: true,
      handler: (ctx) => {
        ctx.type = 'html'
        ctx.set('Content-Security-Policy', contentPolicy)
        return docsPage(app.openapi())
      },
    }),
  ]
}
