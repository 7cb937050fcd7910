import { Component, type ComponentChildren } from 'preact'
import { messageOf } from '../data/message.js'

/** An error boundary: a page or panel that fails to render does not break the rest. */
export class Guarded extends Component<{ readonly children?: ComponentChildren }, { readonly problem: string | undefined }> {
  override state = { problem: undefined }

  static override getDerivedStateFromError(error: unknown): { readonly problem: string } {
    return { problem: messageOf(error) }
  }

  override render() {
    const { problem } = this.state
    return problem === undefined ? (
      this.props.children
    ) : (
      <div class="problem" role="alert">
        <p class="empty-title">This could not be displayed</p>
        <p class="mono">{problem}</p>
      </div>
    )
  }
}
