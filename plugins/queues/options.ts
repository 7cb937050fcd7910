import { defineOptions, type OptionsOf, Type } from 'zin'

/** Options of `queues()`. */
export type QueuesOptions = OptionsOf<typeof queuesOptions>

const path = Type.String({ pattern: '^[\\w$-]+(\\.[\\w$-]+)*$', maxLength: 200 })

export const queuesOptions = defineOptions(
  Type.Object({
    search: Type.Record(Type.String({ pattern: '^[A-Za-z0-9_.-]{1,100}$' }), Type.Array(path, { minItems: 1, maxItems: 10 }), {
      additionalProperties: false,
      default: {},
      description:
        'Searchable fields by queue: up to 10 paths into the job data, such as `customer.id`; see Search. A field can contain text, a number, a boolean or a list',
    }),
    redact: Type.Array(Type.String({ minLength: 1 }), {
      default: ['password', 'passwd', 'secret', 'token', 'authorization', 'apikey', 'cookie', 'creditcard', 'cardnumber'],
      description:
        'Fields of payloads, results and progress whose name contains one of these strings (ignoring case, `-` and `_`) are shown to operators as `[redacted]`',
    }),
  }),
)
