import { defineSettings } from 'zin'

export const clusterSettings = defineSettings({
  CLUSTER_DRIVER: {
    type: 'enum',
    default: 'auto',
    values: ['auto', 'redis', 'sql', 'memory'],
    summary: 'Where the nodes of the app meet; auto: Redis when kv is on Redis, else SQL tables, else this process is alone',
  },
  CLUSTER_NAME: {
    type: 'string',
    default: '',
    pattern: '^[A-Za-z0-9_.:-]{1,100}$',
    summary: 'Processes of the same name act as one; empty: the name of the app',
  },
  CLUSTER_HEARTBEAT_MS: {
    type: 'int',
    default: 5000,
    min: 200,
    max: 60_000,
    summary: 'How often a node renews its lease, in ms; a node counts as lost after three times that',
  },
})
