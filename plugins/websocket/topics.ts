import { websocketErrors } from './errors.js'

/** Who receives what is published. */
export interface Member {
  sendText(text: string): boolean
}

const maxTopicLength = 200

/** Throws SOCKET_TOPIC_INVALID. */
export function checkTopic(topic: unknown): asserts topic is string {
  if (typeof topic !== 'string' || topic === '' || topic.length > maxTopicLength) throw websocketErrors.SOCKET_TOPIC_INVALID(topic)
}

/** The topics of a process with the connections that joined them. */
export class Topics {
  readonly #members = new Map<string, Set<Member>>()
  readonly #topics = new Map<Member, Set<string>>()

  /** Throws SOCKET_TOPIC_INVALID, SOCKET_TOO_MANY_TOPICS. */
  join(topic: string, member: Member, most: number): void {
    checkTopic(topic)
    const own = this.#topics.get(member) ?? new Set<string>()
    if (!own.has(topic) && own.size >= most) throw websocketErrors.SOCKET_TOO_MANY_TOPICS(most)
    this.#topics.set(member, own.add(topic))
    this.#members.set(topic, (this.#members.get(topic) ?? new Set<Member>()).add(member))
  }

  leave(topic: string, member: Member): void {
    checkTopic(topic)
    this.#topics.get(member)?.delete(topic)
    const members = this.#members.get(topic)
    members?.delete(member)
    if (members?.size === 0) this.#members.delete(topic)
  }

  leaveAll(member: Member): void {
    for (const topic of this.#topics.get(member) ?? []) this.leave(topic, member)
    this.#topics.delete(member)
  }

  /** Sends JSON to the members of a topic. */
  publish(topic: string, text: string): void {
    // A member that reads too slowly leaves meanwhile.
    for (const member of [...(this.#members.get(topic) ?? [])]) member.sendText(text)
  }
}
