import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defineErrors } from './errors.js'

const errors = defineErrors({
  MAILBOX_FULL: {
    status: 429,
    title: (name: string) => `${name} is full`,
    message: (name: string, seconds: number) => `The mailbox "${name}" is full; try again in ${seconds} s`,
    headers: (_name: string, seconds: number) => ({ 'Retry-After': String(seconds) }),
    details: (name: string) => ({ name }),
    when: 'A mailbox is full',
    fix: 'Wait',
  },
  MAIL_LOST: { message: (id: string) => `The mail ${id} is lost`, cause: (_id: string, error: unknown) => error },
  MAIL_REFUSED: { status: 401, title: 'Unauthorized', headers: { 'WWW-Authenticate': 'Bearer' }, message: () => 'No' },
})

describe('a table of errors', () => {
  it('computes title, headers and details from the arguments', () => {
    const { code, status, title, message, headers, details } = errors.MAILBOX_FULL('anna', 30)
    assert.deepEqual(
      { code, status, title, message, headers, details },
      {
        code: 'MAILBOX_FULL',
        status: 429,
        title: 'anna is full',
        message: 'The mailbox "anna" is full; try again in 30 s',
        headers: { 'Retry-After': '30' },
        details: { name: 'anna' },
      },
    )
  })

  it('accepts the cause after the arguments of the message', () => {
    const cause = new Error('disk')
    const error = errors.MAIL_LOST('7', cause)
    assert.equal(error.cause, cause)
    assert.equal(error.status, 500)
    assert.equal(error.title, 'Mail lost')
    // @ts-expect-error: the cause is missing
    errors.MAIL_LOST('7')
  })

  it('accepts constant titles and headers, and exposes code and row', () => {
    assert.deepEqual(errors.MAIL_REFUSED().headers, { 'WWW-Authenticate': 'Bearer' })
    assert.equal(errors.MAIL_REFUSED().title, 'Unauthorized')
    assert.equal(errors.MAILBOX_FULL.code, 'MAILBOX_FULL')
    assert.equal(errors.MAILBOX_FULL.row.when, 'A mailbox is full')
  })
})
