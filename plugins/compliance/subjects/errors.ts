import { defineErrors } from 'zin'
import type { Erasure } from '../store/erasures.js'

export const subjectErrors = defineErrors({
  SUBJECT_UNDECLARED: {
    status: 400,
    message: () =>
      'No queue declares where its jobs name their subject. Declare it in zin.config.ts, such as compliance({ subjects: { emails: ["user.id"] } }), or give jobs the option "subject"',
    when: 'A subject is exported or erased, no queue declares the paths of its subjects, and no job had the option `subject`',
    fix: 'Declare the paths with the option `subjects`',
  },
  SUBJECT_INVALID: {
    status: 400,
    message: () => 'The id of a subject is text of 1 to 200 characters without NUL',
    when: 'The id of a subject is empty, too long, or no text',
    fix: 'Use the id as it stands in the data of the jobs',
  },
  ERASURE_NOT_FOUND: {
    status: 404,
    message: (id: string) => `No erasure has the id "${id.slice(0, 60)}"`,
    when: 'The id of an erasure is unknown',
    fix: 'Use the id of the response to `DELETE /api/compliance/subjects/:id`',
  },
  ERASURE_FAILED: {
    status: 503,
    message: ({ erased, error, id }: Erasure) =>
      `The subject is not erased: ${error ?? 'no reason is known'}. ${erased} jobs and schedules were erased before that (erasure ${id}); repeat the request`,
    details: (erasure: Erasure) => ({ erasure }),
    when: 'An erasure failed before the response, as its store or a plugin failed; part of the data may be left',
    fix: 'Remove the cause that the message names, and repeat the request',
  },
  GDPR_OFF: {
    status: 409,
    message: () => 'Subjects are neither exported nor erased: WORKER_GDPR is false',
    when: 'A subject is exported or erased while `WORKER_GDPR` is false',
    fix: 'Set `WORKER_GDPR` to true',
  },
})
