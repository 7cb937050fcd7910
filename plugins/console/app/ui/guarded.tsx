import { Component, type ComponentChildren } from 'preact'
import { messageOf } from '../data/message.js'

/** A page or panel that fails while it is drawn does not take the rest along. */
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
        <p class="empty-title">This cannot be shown</p>
        <p class="mono">{problem}</p>
      </div>
    )
  }
}
