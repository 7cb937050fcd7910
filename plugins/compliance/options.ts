import { defineOptions, type OptionsOf, Type } from 'zin'

/** Options of `compliance()`. */
export type ComplianceOptions = OptionsOf<typeof complianceOptions>

export const complianceOptions = defineOptions(
  Type.Object({
    auditBacklog: Type.Integer({
      minimum: 100,
      maximum: 1_000_000,
      default: 10_000,
      description:
        'Job outcomes that wait in memory while the audit log cannot be written; further ones are counted, and the count is written',
    }),
    hipaaStreamMinutes: Type.Integer({
      minimum: 1,
      maximum: 15,
      default: 5,
      description: 'Minutes after which an event stream ends with `WORKER_HIPAA`, so that its client proves again who it is',
    }),
    clearFields: Type.Record(Type.String(), Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 20 }), {
      default: {},
      description:
        'By queue: paths of fields of the data, such as `order.id`, that are also stored unencrypted, for searches in the store. No personal data',
    }),
    subjects: Type.Record(Type.String(), Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1, maxItems: 20 }), {
      default: {},
      description:
        'By queue: paths of the fields of the data that name a subject, such as `user.id`. A field may hold text, a number or a list',
    }),
  }),
)
