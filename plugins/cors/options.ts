import { defineOptions, type OptionsOf, Type } from 'zin'

export type CorsOptions = OptionsOf<typeof corsOptions>

const origin = Type.String({ minLength: 1, maxLength: 300 })
const headerName = Type.String({ pattern: "^[\\w!#$%&'*+.^`|~-]+$" })

export const corsOptions = defineOptions(
  Type.Object({
    origins: Type.Union([origin, Type.Array(origin)], {
      default: [],
      description:
        'Origins whose pages may call the app: `https://shop.example`, `https://*.shop.example` for its subdomains, `http://localhost:*` for any port, or `*` for all. Default: only those of routes with a field `cors`',
    }),
    credentials: Type.Boolean({
      default: false,
      description: 'Whether browsers send cookies and HTTP authentication along and show the response. Not with the origin `*`',
    }),
    exposedHeaders: Type.Array(headerName, {
      default: [],
      description: 'Headers of responses that pages may read, besides `Date`, `x-request-id` and those that every page may read',
    }),
    maxAgeSeconds: Type.Integer({
      minimum: 0,
      maximum: 86_400,
      default: 600,
      description: 'How long a browser keeps the result of a preflight, in seconds; most keep it for at most 7200',
    }),
  }),
)

/** Field `cors` of a route: who may call it from another origin, instead of the options of the plugin. False: no one. */
export type RouteCors = false | { readonly origins: string | readonly string[]; readonly credentials?: boolean }
