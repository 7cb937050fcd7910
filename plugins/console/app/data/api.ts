import { authorizedFetch, deadlineMs, silenceOf } from './credentials.js'

/** A failed request; status 0 means that the app did not respond. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly details: unknown

  constructor(status: number, code: string, message: string, details?: unknown) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
  }
}

export async function request<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { accept: 'application/json', 'x-requested-with': 'zin-console' }
  if (body !== undefined) headers['content-type'] = 'application/json'
  const deadline = AbortSignal.timeout(deadlineMs)
  const init: RequestInit = {
    method,
    headers,
    signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
  const response = await authorizedFetch(path, init).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new ApiError(0, 'UNREACHABLE', silenceOf(deadline))
  })
  if (response.ok) return (await response.json()) as T
  throw await errorOf(response)
}

export async function errorOf(response: Response): Promise<ApiError> {
  const { code, details, message } = (await response.json().catch(() => ({}))) as { code?: string; message?: string; details?: unknown }
  return new ApiError(response.status, code ?? `HTTP_${response.status}`, message ?? response.statusText, details)
}

/** Downloads a file with the credential of this tab, which a plain link could not send. */
export async function download(path: string, name: string): Promise<void> {
  const deadline = AbortSignal.timeout(deadlineMs)
  const silent = (): never => {
    throw new ApiError(0, 'UNREACHABLE', silenceOf(deadline))
  }
  const response = await authorizedFetch(path, { headers: { 'x-requested-with': 'zin-console' }, signal: deadline }).catch(silent)
  if (!response.ok) throw await errorOf(response)
  saveFile(await response.blob().catch(silent), name)
}

/** Makes the browser save content of the page as a file. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
