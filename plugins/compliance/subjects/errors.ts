import { defineErrors } from 'zin'
import type { Erasure } from '../store/erasures.js'

export const subjectErrors = defineErrors({
  SUBJECT_UNDECLARED: {
    status: 400,
    message: () =>
      'No queue declares which fields of its jobs identify a subject. Declare them in zin.config.ts, such as compliance({ subjects: { emails: ["user.id"] } }), or give jobs the option "subject"',
    when: 'A subject is exported or erased, no queue declares the paths of its subjects, and no job had the option `subject`',
    fix: 'Declare the paths with the option `subjects`',
  },
  SUBJECT_INVALID: {
    status: 400,
    message: () => 'The id of a subject must be a string of 1 to 200 characters without NUL',
    when: 'The id of a subject is empty or too long, or contains NUL',
    fix: 'Use the id exactly as it appears in the job data',
  },
  ERASURE_NOT_FOUND: {
    status: 404,
    message: (id: string) => `No erasure has the id "${id.slice(0, 60)}"`,
    when: 'The id of an erasure is unknown',
    fix: 'Use the id from the response to `DELETE /api/compliance/subjects/:id`',
  },
  ERASURE_FAILED: {
    status: 503,
    message: ({ erased, error, id }: Erasure) =>
      `The subject was not fully erased: ${error ?? 'the reason is unknown'}. At least ${erased} jobs and schedules were erased before that (erasure ${id}); repeat the request`,
    details: (erasure: Erasure) => ({ erasure }),
    when: 'An erasure failed before the response because a store or a plugin failed; part of the data may remain',
    fix: 'Fix the cause that the message names, then repeat the request',
  },
  GDPR_OFF: {
    status: 409,
    message: () => 'Subjects cannot be exported or erased: WORKER_GDPR is false',
    when: 'A subject is exported or erased while `WORKER_GDPR` is false',
    fix: 'Set `WORKER_GDPR` to true',
  },
})
