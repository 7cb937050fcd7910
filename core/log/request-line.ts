import { maskText } from './redact.js'
import { levelWord, localSecond, printable } from './text.js'
import type { Logger } from './types.js'

/** The facts of the line that each request gets. Undefined fields are not written. */
export interface RequestFacts {
  readonly requestId: string
  readonly clientRequestId: string | undefined
  readonly trace_id: string | undefined
  readonly method: string
  readonly path: string
  readonly status: number
  readonly sentStatus: number | undefined
  /** Whole milliseconds. */
  readonly ms: number
  readonly bytes: number | undefined
  readonly complete: boolean
}

export type RequestLevel = 'debug' | 'info'

/** Writes the line of a request. */
export type RequestLog = (level: RequestLevel, facts: RequestFacts) => void

/** How a logger writes the lines of requests, without what others need; undefined if it logs them like others. */
export const requestLogOf = (log: Logger): RequestLog | undefined => (log as { readonly request?: RequestLog }).request

const message = 'request'

/** Writes the line of a request, in JSON, as the logger would write its facts; `head` are the fields of every line, such as `"pid":1,"app":"x"`. */
export function jsonRequestLine(head: string): (level: RequestLevel, now: number, facts: RequestFacts) => string {
  const isoTime = timeText((date) => date.toISOString().slice(0, 20), 'Z')
  return (level, now, facts) => {
    const { clientRequestId, trace_id, sentStatus, bytes } = facts
    let line = `{"level":"${level}","time":"${isoTime(now)}",${head},"requestId":${quoted(maskText(facts.requestId))}`
    if (clientRequestId !== undefined) line += `,"clientRequestId":${quoted(maskText(clientRequestId))}`
    if (trace_id !== undefined) line += `,"trace_id":${quoted(trace_id)}`
    line += `,"method":${quoted(facts.method)},"path":${quoted(maskText(facts.path))},"status":${facts.status}`
    if (sentStatus !== undefined) line += `,"sentStatus":${sentStatus}`
    line += `,"ms":${facts.ms}`
    if (bytes !== undefined) line += `,"bytes":${bytes}`
    return `${line},"complete":${facts.complete},"msg":"${message}"}\n`
  }
}

/** Writes the line of a request as readable text. */
export function textRequestLine(colors: boolean): (level: RequestLevel, now: number, facts: RequestFacts) => string {
  const clock = timeText(localSecond, '')
  const words = { debug: levelWord('debug', colors), info: levelWord('info', colors) }
  return (level, now, facts) => {
    const { clientRequestId, trace_id, sentStatus, bytes } = facts
    let line = `[${clock(now)}] ${words[level]}: ${message} requestId=${printable(maskText(facts.requestId))}`
    if (clientRequestId !== undefined) line += ` clientRequestId=${printable(maskText(clientRequestId))}`
    if (trace_id !== undefined) line += ` trace_id=${printable(trace_id)}`
    line += ` method=${printable(facts.method)} path=${printable(maskText(facts.path))} status=${facts.status}`
    if (sentStatus !== undefined) line += ` sentStatus=${sentStatus}`
    line += ` ms=${facts.ms}`
    if (bytes !== undefined) line += ` bytes=${bytes}`
    return `${line} complete=${facts.complete}\n`
  }
}

const quoted = (text: string): string => JSON.stringify(text)

/** Returns a function that writes a time in ms since 1970: the text of its second, which is kept for the next call, and its milliseconds. */
function timeText(textOf: (second: Date) => string, end: string): (now: number) => string {
  let second = Number.NaN
  let text = ''
  return (now) => {
    const current = Math.floor(now / 1000)
    if (current !== second) {
      second = current
      text = textOf(new Date(current * 1000))
    }
    return `${text}${String(now - current * 1000).padStart(3, '0')}${end}`
  }
}
