import type { Job } from 'bullmq'
import type { HealthCheckResult } from 'zin/plugins/workers'

export interface Email {
  readonly to: string
  readonly subject: string
}

/** Stands in for a mail service: composes the message and rejects invalid addresses. */
export default async function sendEmail(job: Job<Email>): Promise<{ readonly accepted: string; readonly bytes: number }> {
  const { to, subject } = job.data
  if (!/^[^@\s]+@[^@\s]+$/.test(to)) throw new Error(`"${to}" is not an email address`)
  const message = `To: ${to}\r\nSubject: ${subject}\r\n\r\nHello!\r\n`
  await job.log(`composed ${message.length} bytes`)
  return { accepted: to, bytes: Buffer.byteLength(message) }
}

/** Stands in for a check of the mail service, once a minute. */
export function healthCheck(): HealthCheckResult {
  return { healthy: true, details: { service: 'simulated' } }
}
