import { type Logger, messageOf } from 'zin'
import type { AlertBody, Send } from './send.js'

/** How emails are sent. */
export interface SmtpOptions {
  readonly host: string
  /** Default 587. */
  readonly port?: number
  /** TLS from the first byte; otherwise, which is the default, STARTTLS when the server offers it. With `user` it has to. */
  readonly secure?: boolean
  readonly user?: string
  readonly password?: string
  readonly from: string
}

/** Emails of alerts through a mail server. The package for it is loaded with the first email. */
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
      // Whoever is between could leave the offer of STARTTLS out, and read the password.
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
      const subject = `Alert ${data.rule} of queue ${data.queue} ${data.status}`
      const text = `${data.reason}\n\nQueue: ${data.queue}\nAlert: ${data.rule}\nState: ${data.status}\nTime: ${timestamp}\n`
      // The same in each attempt, so that mail servers can drop a repetition.
      const messageId = `<${id}@zin>`
      const { response } = await transport.sendMail({ from: smtp.from, to: [...recipients], subject, text, messageId })
      log.debug({ id, ms: clock.monotonic() - started }, 'an email about an alert was sent')
      return { kind: 'accepted', status: codeOf(response), error: null }
    } catch (error) {
      const status = codeOf((error as { readonly responseCode?: number }).responseCode)
      return { kind: 'refused', status, error: `The mail server ${host}:${port} did not take it: ${messageOf(error).slice(0, 300)}` }
    } finally {
      transport.close()
    }
  }
}

function codeOf(response: string | number | undefined): number | null {
  const code = Number(String(response ?? '').slice(0, 3))
  return Number.isInteger(code) && code > 0 ? code : null
}
