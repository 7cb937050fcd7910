import { isPlanned } from '../schedules/embedded.js'

const define = (signature: string, returns: string, body: string): string =>
  `create or replace function ${signature} returns ${returns} language plpgsql as $$\n${body}\n$$;`

const changed = define(
  'zin_changed(j job)',
  'jsonb',
  `begin
  return jsonb_build_object('queue', j.queue, 'id', j.id, 'state', j.state, 'at', coalesce(j.finished_at_ms, j.added_at_ms),
    'attempts', j.attempts_made);
end`,
)

const drop = define(
  'zin_drop(p_queue text, p_id text, p_below boolean)',
  'jsonb',
  `declare j job; below jsonb := '[]';
begin
  if p_below then below := zin_remove_below(p_queue, p_id); end if;
  delete from job where queue = p_queue and id = p_id returning * into j;
  perform dedup_on_removal(p_queue, p_id, j.dedup_id);
  perform publish_event(p_queue, 'removed', jsonb_build_object('jobId', p_id, 'prev', j.state));
  return jsonb_build_array(zin_changed(j)) || below;
end`,
)

const removeBelow = define(
  'zin_remove_below(p_queue text, p_id text)',
  'jsonb',
  `declare d record; gone jsonb := '[]';
begin
  for d in select x.child_queue as q, x.child_id as i from job_dependency x join job c on c.queue = x.child_queue and c.id = x.child_id
    where x.parent_queue = p_queue and x.parent_id = p_id and x.status = 'pending' and c.state in ('waiting', 'delayed', 'waiting-children')
  loop
    gone := gone || zin_drop(d.q, d.i, true);
    delete from job_dependency where parent_queue = p_queue and parent_id = p_id and child_queue = d.q and child_id = d.i;
    update job set pending_deps = greatest(pending_deps - 1, 0) where queue = p_queue and id = p_id;
  end loop;
  return gone;
end`,
)

const remove = define(
  'zin_remove(p_queue text, p_id text, p_ended boolean, p_keeps_below boolean)',
  'jsonb',
  `declare j job; ended boolean; awaited boolean; gone jsonb;
begin
  select * into j from job where queue = p_queue and id = p_id;
  ended := j.state in ('completed', 'failed');
  if not found or j.state = 'active' or (ended and not p_ended) then return '{"refused": "changed"}'; end if;
  awaited := exists (select 1 from job_dependency where child_queue = p_queue and child_id = p_id and status = 'pending');
  if awaited and not ended then return '{"refused": "tied"}'; end if;
  if ${isPlanned('j')} then
    return '{"refused": "scheduled"}';
  end if;
  gone := zin_drop(p_queue, p_id, not ended and not p_keeps_below);
  if awaited then
    -- A parent cannot complete without a child that it waits for: it fails, as if the child had failed it.
    update job_dependency set status = 'failed'
      where parent_queue = j.parent_queue and parent_id = j.parent_id and child_queue = p_queue and child_id = p_id;
    update job set pending_deps = greatest(pending_deps - 1, 0) where queue = j.parent_queue and id = j.parent_id;
    update job set deferred_failure = 'child ' || p_queue || ':' || p_id || ' failed', delay_ms = 0
      where queue = j.parent_queue and id = j.parent_id and state = 'waiting-children';
    perform move_parent_to_wait(j.parent_queue, j.parent_id, (extract(epoch from clock_timestamp()) * 1000)::bigint);
  end if;
  return gone;
end`,
)

/** Lets a job wait: for its children, or to run. */
const requeue = define(
  'zin_requeue(p_queue text, p_id text, p_from text, p_reset boolean)',
  'void',
  `declare j job; place bigint := nextval('job_seq'); now_ms bigint := (extract(epoch from clock_timestamp()) * 1000)::bigint;
begin
  select * into j from job where queue = p_queue and id = p_id;
  if coalesce((j.opts->>'lifo')::boolean, false) then place := -place; end if;
  update job set state = (case when j.pending_deps > 0 then 'waiting-children' else 'waiting' end)::job_state, seq = place,
    process_at_ms = null, processed_at_ms = null, finished_at_ms = null, return_value = null, failed_reason = null, stacktrace = null,
    deferred_failure = null, stalled_count = 0, attempts_made = case when p_reset then 0 else attempts_made end
    where queue = p_queue and id = p_id;
  -- It is deduplicated again, unless another job has its id by now, or it had the id for a time.
  if j.dedup_id is not null and j.opts->'deduplication'->>'ttl' is null then
    insert into dedup (queue, dedup_id, job_id) values (p_queue, j.dedup_id, p_id)
      on conflict (queue, dedup_id) do update set job_id = excluded.job_id, expire_at_ms = null
      where dedup.expire_at_ms <= now_ms or not exists (select 1 from job x where x.queue = p_queue and x.id = dedup.job_id);
  end if;
  perform publish_event(p_queue, case when j.pending_deps > 0 then 'waiting-children' else 'waiting' end,
    jsonb_build_object('jobId', p_id, 'prev', p_from));
  if j.pending_deps = 0 then perform pg_notify('bullmq_jobs', p_queue); end if;
end`,
)

/** The first child below whose failure failed its parent, and that no longer exists. */
const missing = define(
  'zin_missing(p_queue text, p_id text)',
  'text',
  `declare d record; found_below text;
begin
  for d in select * from job_dependency where parent_queue = p_queue and parent_id = p_id and status = 'failed' loop
    if not exists (select 1 from job where queue = d.child_queue and id = d.child_id) then return d.child_key; end if;
    found_below := zin_missing(d.child_queue, d.child_id);
    if found_below is not null then return found_below; end if;
  end loop;
  return null;
end`,
)

/** Whether a worker is failing a parent above because of its child: it will be failed in a moment. */
const busy = define(
  'zin_busy(p_queue text, p_id text)',
  'boolean',
  `declare j job; p job;
begin
  select * into j from job where queue = p_queue and id = p_id;
  select * into p from job where queue = j.parent_queue and id = j.parent_id;
  if not found then return false; end if;
  if p.state = 'active' and p.deferred_failure like 'child % failed' then return true; end if;
  return zin_busy(p.queue, p.id);
end`,
)

const down = define(
  'zin_retry_down(p_queue text, p_id text, p_reset boolean)',
  'jsonb',
  `declare j job; d record; below jsonb := '[]';
begin
  select * into j from job where queue = p_queue and id = p_id;
  for d in select c.queue, c.id, c.state from job_dependency x join job c on c.queue = x.child_queue and c.id = x.child_id
    where x.parent_queue = p_queue and x.parent_id = p_id and x.status = 'failed' loop
    if d.state = 'failed' then below := below || zin_retry_down(d.queue, d.id, p_reset); end if;
    perform zin_await(p_queue, p_id, d.queue, d.id);
  end loop;
  perform zin_requeue(p_queue, p_id, 'failed', p_reset);
  return jsonb_build_array(zin_changed(j)) || below;
end`,
)

/** Makes a parent wait for a child again. */
const awaiting = define(
  'zin_await(p_queue text, p_id text, p_child_queue text, p_child text)',
  'void',
  `begin
  update job_dependency set status = 'pending', value = null
    where parent_queue = p_queue and parent_id = p_id and child_queue = p_child_queue and child_id = p_child;
  update job set pending_deps = pending_deps + 1 where queue = p_queue and id = p_id;
end`,
)

const up = define(
  'zin_retry_up(p_queue text, p_id text, p_reset boolean)',
  'jsonb',
  `declare j job; p job; link dep_status; failing boolean;
begin
  select * into j from job where queue = p_queue and id = p_id;
  select * into p from job where queue = j.parent_queue and id = j.parent_id;
  if not found or p.state in ('completed', 'active') then return '[]'; end if;
  select status into link from job_dependency
    where parent_queue = p.queue and parent_id = p.id and child_queue = p_queue and child_id = p_id;
  if link is null or link not in ('failed', 'ignored') then return '[]'; end if;
  perform zin_await(p.queue, p.id, p_queue, p_id);
  failing := exists (select 1 from job_dependency where parent_queue = p.queue and parent_id = p.id and status = 'failed');
  if failing or p.state = 'waiting-children' then return '[]'; end if;
  if p.state = 'failed' then
    -- Without a start it was failed by hand, and stays failed.
    if link <> 'failed' or p.processed_at_ms is null then return '[]'; end if;
    perform zin_requeue(p.queue, p.id, 'failed', p_reset);
    return jsonb_build_array(zin_changed(p)) || zin_retry_up(p.queue, p.id, p_reset);
  end if;
  if p.deferred_failure is null or p.deferred_failure like 'child % failed' then
    perform zin_requeue(p.queue, p.id, p.state::text, p_reset);
  end if;
  return '[]';
end`,
)

const retry = define(
  'zin_retry(p_queue text, p_id text, p_reset boolean)',
  'jsonb',
  `declare lost text;
begin
  if not exists (select 1 from job where queue = p_queue and id = p_id and state = 'failed') then return '{"refused": "changed"}'; end if;
  lost := zin_missing(p_queue, p_id);
  if lost is not null then return jsonb_build_object('refused', 'gone', 'child', lost); end if;
  if zin_busy(p_queue, p_id) then return '{"refused": "busy"}'; end if;
  return zin_retry_down(p_queue, p_id, p_reset) || zin_retry_up(p_queue, p_id, p_reset);
end`,
)

/** SQL that creates the functions of {@link FlowBackend} in the embedded store. */
export const flowFunctions = [changed, removeBelow, drop, remove, requeue, missing, busy, awaiting, down, up, retry].join('\n')
