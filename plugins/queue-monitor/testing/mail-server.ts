import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

/** A mail server that records received emails. */
export class MailServer {
  readonly mails: { readonly to: readonly string[]; readonly text: string }[] = []
  readonly commands: string[] = []
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server) {
    this.#server = server
  }

  static async open(): Promise<MailServer> {
    const server = createServer()
    const mail = new MailServer(server)
    server.on('connection', (socket) => void mail.#serve(socket).catch(() => undefined))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return mail
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #serve(socket: Socket): Promise<void> {
    this.#sockets.add(socket)
    socket.on('error', () => undefined)
    socket.write('220 test\r\n')
    let [text, data, inData] = ['', '', false]
    let to: string[] = []
    for await (const chunk of socket) {
      text += String(chunk)
      for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
        const line = text.slice(0, end)
        text = text.slice(end + 2)
        if (inData && line !== '.') {
          data += `${line}\n`
          continue
        }
        if (inData) {
          this.mails.push({ to, text: data })
          ;[inData, data, to] = [false, '', []]
          socket.write('250 kept\r\n')
          continue
        }
        this.commands.push(line)
        if (line === 'DATA') {
          inData = true
          socket.write('354 go on\r\n')
        } else {
          const recipient = /^RCPT TO:<(.+)>/.exec(line)?.[1]
          if (recipient !== undefined) to.push(recipient)
          socket.write(replyTo(line))
        }
      }
    }
  }
}

/** Accepts passwords but offers no TLS. */
function replyTo(command: string): string {
  if (command.startsWith('EHLO')) return '250-test\r\n250 AUTH PLAIN LOGIN\r\n'
  if (command.startsWith('AUTH')) return '235 ok\r\n'
  if (command === 'STARTTLS') return '502 no\r\n'
  return command === 'QUIT' ? '221 bye\r\n' : '250 ok\r\n'
}
