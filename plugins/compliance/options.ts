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
        'Job outcomes buffered in memory while the audit log cannot be written; further ones are only counted, and the count is recorded',
    }),
    auditAnchorSeconds: Type.Integer({
      minimum: 1,
      maximum: 86_400,
      default: 60,
      description:
        'With `WORKER_AUDIT_ANCHOR_FILE` or `WORKER_AUDIT_ANCHOR_URL`: each process writes its newest seal there at most once in this many seconds, and when it stops',
    }),
    hipaaStreamMinutes: Type.Integer({
      minimum: 1,
      maximum: 15,
      default: 5,
      description: 'With `WORKER_HIPAA`: minutes after which an event stream is closed, so that its client has to authenticate again',
    }),
    clearFields: Type.Record(Type.String(), Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 20 }), {
      default: {},
      description:
        'By queue: paths of data fields, such as `order.id`, that are also stored unencrypted so that jobs can be searched by them. Must not contain personal data',
    }),
    subjects: Type.Record(Type.String(), Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1, maxItems: 20 }), {
      default: {},
      description:
        'By queue: paths of the data fields that identify a subject, such as `user.id`. A field may contain a string, a number or a list',
    }),
  }),
)
