import type { Cluster, Redis } from 'ioredis'

/** A client of a server, or of a cluster. */
export type RedisClient = Redis | Cluster
