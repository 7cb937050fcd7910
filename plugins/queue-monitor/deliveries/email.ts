import { type Logger, messageOf } from 'zin'
import { type AlertBody, type Send, titleOf } from './send.js'

/** Settings of the mail server. */
export interface SmtpOptions {
  readonly host: string
  /** Default: 587. */
  readonly port?: number
  /** Use TLS from the first byte. Default: false, which uses STARTTLS if the server offers it; with `user`, STARTTLS is required. */
  readonly secure?: boolean
  readonly user?: string
  readonly password?: string
  readonly from: string
}

/** Returns a function that sends alerts by email. Nodemailer is loaded with the first email. */
export function sendEmail(smtp: SmtpOptions | undefined, timeoutMs: number, clock: { monotonic(): number }, log: Logger): Send {
  return async ({ body, id }, { recipients }) => {
    if (smtp === undefined) return { kind: 'blocked', status: null, error: 'The option monitor.smtp is not set' }
    const { host, port = 587, secure = false } = smtp
    const started = clock.monotonic()
    const { createTransport } = await import('nodemailer')
    const transport = createTransport({
      host,
      port,
      secure,
      // Otherwise, an attacker in the middle could strip the STARTTLS offer and read the password.
      requireTLS: smtp.user !== undefined,
      ...(smtp.user === undefined ? {} : { auth: { user: smtp.user, pass: smtp.password ?? '' } }),
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    try {
      const { data, timestamp } = JSON.parse(body) as AlertBody
      const subject = titleOf(data)
      const about = data.subject === undefined ? `Queue: ${data.queue}` : `Subject: ${data.subject}`
      const text = `${data.reason}\n\n${about}\nAlert: ${data.rule}\nState: ${data.status}\nTime: ${timestamp}\n`
      // The same in each attempt, so that mail servers can drop duplicates.
      const messageId = `<${id}@zin>`
      const { response } = await transport.sendMail({ from: smtp.from, to: [...recipients], subject, text, messageId })
      log.debug({ id, ms: clock.monotonic() - started }, 'sent an alert email')
      return { kind: 'accepted', status: codeOf(response), error: null }
    } catch (error) {
      const status = codeOf((error as { readonly responseCode?: number }).responseCode)
      return {
        kind: 'refused',
        status,
        error: `The mail server ${host}:${port} did not accept the email: ${messageOf(error).slice(0, 300)}`,
      }
    } finally {
      transport.close()
    }
  }
}

function codeOf(response: string | number | undefined): number | null {
  const code = Number(String(response ?? '').slice(0, 3))
  return Number.isInteger(code) && code > 0 ? code : null
}
