/** A stack trace: frames of the app are shown, frames of packages and Node.js are collapsed. */
export function StackView({ text }: { readonly text: string }) {
  const lines = text.split('\n')
  const first = lines.findIndex((line) => /^\s+at /.test(line))
  const message = first < 0 ? lines : lines.slice(0, first)
  const frames = first < 0 ? [] : lines.slice(first)
  const own = frames.filter((line) => !isForeign(line))
  const foreign = frames.filter(isForeign)
  return (
    <div class="stack mono">
      <pre class="stack-message">{message.join('\n')}</pre>
      {own.length > 0 && <pre>{own.join('\n')}</pre>}
      {foreign.length > 0 && (
        <details>
          <summary class="dim">
            {foreign.length === 1 ? '1 frame in packages or Node.js' : `${foreign.length} frames in packages or Node.js`}
          </summary>
          <pre class="dim">{foreign.join('\n')}</pre>
        </details>
      )}
    </div>
  )
}

function isForeign(line: string): boolean {
  return /node_modules[/\\]|\(?node:|[/\\]dist[/\\]chunks[/\\]/.test(line)
}
