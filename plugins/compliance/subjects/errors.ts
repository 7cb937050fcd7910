import { defineErrors } from 'zin'

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
  GDPR_OFF: {
    status: 409,
    message: () => 'Subjects are neither exported nor erased: WORKER_GDPR is false',
    when: 'A subject is exported or erased while `WORKER_GDPR` is false',
    fix: 'Set `WORKER_GDPR` to true',
  },
})
