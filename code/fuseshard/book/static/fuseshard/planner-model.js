// The planner's arithmetic, function by function that of fuseshard.distributed.planning: the same
// names (in this language's spelling), the same order of operations, the same units. A test holds
// both against each other on generated inputs. Sizes come as the Python records' JSON.
(() => {
  "use strict";
  const LOGIT_BYTES = 4;
  const GATHERED_AT_ONCE = 2;
  const NOTABLE = 0.05;
  const NOTABLY_FASTER = 0.99;

  // shape.py

  const kvWidth = (model) => (model.width / model.num_heads) * model.num_kv_heads;

  function layerMatrixParameters(model) {
    const { width } = model;
    const attention = 2 * width * width + 2 * width * kvWidth(model);
    return attention + (model.is_gated ? 3 : 2) * width * model.feed_forward_width;
  }

  function layerParameters(model) {
    const { width } = model;
    const norms = 2 * width;
    if (!model.has_bias) return layerMatrixParameters(model) + norms;
    const attention = 2 * width + 2 * kvWidth(model);
    const feedForward = (model.is_gated ? 2 : 1) * model.feed_forward_width + width;
    return layerMatrixParameters(model) + 2 * norms + attention + feedForward;
  }

  const embeddingParameters = (model) => (model.vocabulary + model.num_positions) * model.width;

  function headParameters(model) {
    if (model.is_tied) return 0;
    return model.vocabulary * model.width + (model.has_bias ? model.vocabulary : 0);
  }

  function numParameters(model) {
    const lastNorm = (model.has_bias ? 2 : 1) * model.width;
    const layers = model.num_layers * layerParameters(model);
    return embeddingParameters(model) + layers + lastNorm + headParameters(model);
  }

  function stageParameters(model, pp) {
    if (pp === 1) return [numParameters(model), numParameters(model)];
    const layers = (model.num_layers / pp) * layerParameters(model);
    const lastNorm = (model.has_bias ? 2 : 1) * model.width;
    const copy = model.is_tied ? model.vocabulary * model.width : 0;
    const last = layers + lastNorm + headParameters(model) + copy;
    return [layers + embeddingParameters(model), last];
  }

  const largestUnit = (model) =>
    Math.max(layerParameters(model), embeddingParameters(model), headParameters(model));

  function layerFlop(model, microBatch) {
    const tokens = microBatch * model.sequence;
    const products = 2 * tokens * layerMatrixParameters(model);
    return products + 4 * tokens * model.sequence * model.width;
  }

  const headFlop = (model, microBatch) =>
    2 * microBatch * model.sequence * model.width * model.vocabulary;

  // memory.py

  const stateBytesPerParameter = (model) =>
    model.weight_bytes + model.gradient_bytes + model.optimizer_bytes;

  const layerInputBytes = (model, microBatch) =>
    model.activation_bytes * microBatch * model.sequence * model.width;

  function layerActivationBytes(model, microBatch) {
    const inner = (model.is_gated ? 4 : 2) * model.feed_forward_width;
    const numbers = 6 * model.width + 2 * kvWidth(model) + inner;
    const masks = model.has_dropout ? 2 * model.width : 0;
    const tokens = microBatch * model.sequence;
    return tokens * (model.activation_bytes * numbers + masks);
  }

  function headActivationBytes(model, microBatch) {
    const numbers = 2 * model.activation_bytes * model.width + LOGIT_BYTES * model.vocabulary;
    return microBatch * model.sequence * numbers;
  }

  const microBatchSize = (model, degrees) =>
    model.global_batch / (degrees.dp * degrees.fsdp) / degrees.num_micro_batches;

  function keptBytes(model, degrees, inFlight) {
    const microBatch = microBatchSize(model, degrees);
    const layers = model.num_layers / degrees.pp;
    const whole = layerActivationBytes(model, microBatch);
    if (degrees.recomputes) return inFlight * layers * layerInputBytes(model, microBatch) + whole;
    return inFlight * layers * whole;
  }

  function gatheredBytes(model, degrees) {
    if (degrees.fsdp === 1) return 0;
    const perParameter = GATHERED_AT_ONCE * model.weight_bytes + model.gradient_bytes;
    return (perParameter * largestUnit(model)) / degrees.tp;
  }

  function memory(model, degrees) {
    const [first, last] = stageParameters(model, degrees.pp);
    const perParameter = stateBytesPerParameter(model) / (degrees.tp * degrees.fsdp);
    const head = headActivationBytes(model, microBatchSize(model, degrees));
    const inFlight = Math.min(degrees.pp, degrees.num_micro_batches);
    const keptFirst = keptBytes(model, degrees, inFlight) + (degrees.pp === 1 ? head : 0);
    const keptLast = keptBytes(model, degrees, 1) + head;
    const gathered = gatheredBytes(model, degrees);
    const held = (parameters, kept) => {
      const state = parameters * perParameter;
      const activation = kept / degrees.tp;
      return { state, gathered, activation, total: state + gathered + activation };
    };
    const [ofFirst, ofLast] = [held(first, keptFirst), held(last, keptLast)];
    return ofFirst.total >= ofLast.total ? ofFirst : ofLast;
  }

  // communication.py

  function link(cluster, stride, degree) {
    const hops = degree - 1;
    const isWhole = degree === 1 || cluster.num_nodes === 1;
    if (isWhole || cluster.gpus_per_node % (stride * degree) === 0) {
      const rate = cluster.inside_bytes_per_s;
      return { rate, latency: hops * cluster.inside_latency_s, isBetween: false };
    }
    const members = Math.max(1, Math.min(degree, Math.floor(cluster.gpus_per_node / stride)));
    const crossings = Math.ceil(degree / members) - 1;
    const inside = (hops - crossings) * cluster.inside_latency_s;
    const latency = inside + crossings * cluster.between_latency_s;
    const rate = Math.min(cluster.inside_bytes_per_s, members * cluster.between_bytes_per_s);
    return { rate, latency, isBetween: true };
  }

  const allGather = (bytes, degree, over) =>
    over.latency + (((degree - 1) / degree) * bytes) / over.rate;

  const allReduce = (bytes, degree, over) => 2 * allGather(bytes, degree, over);

  const sumsPerLayer = (degrees) => (degrees.recomputes ? 6 : 4);

  const sharedParameters = (model, degrees) =>
    Math.max(...stageParameters(model, degrees.pp)) / degrees.tp;

  // step_time.py

  function stageFlop(model, degrees) {
    const microBatch = microBatchSize(model, degrees);
    const layers = (model.num_layers / degrees.pp) * layerFlop(model, microBatch);
    const forward = layers + headFlop(model, microBatch);
    return [forward, 3 * forward + (degrees.recomputes ? layers : 0)];
  }

  function tensorTime(model, cluster, degrees) {
    if (degrees.tp === 1) return 0;
    const moved = layerInputBytes(model, microBatchSize(model, degrees));
    const sums = (model.num_layers / degrees.pp) * sumsPerLayer(degrees);
    return sums * allReduce(moved, degrees.tp, link(cluster, 1, degrees.tp));
  }

  function pipelineTime(model, cluster, degrees) {
    if (degrees.pp === 1) return 0;
    const moved = layerInputBytes(model, microBatchSize(model, degrees)) / degrees.tp;
    if (link(cluster, degrees.tp * degrees.fsdp * degrees.dp, degrees.pp).isBetween) {
      return 2 * (cluster.between_latency_s + moved / cluster.between_bytes_per_s);
    }
    return 2 * (cluster.inside_latency_s + moved / cluster.inside_bytes_per_s);
  }

  function shardTime(model, cluster, degrees) {
    if (degrees.fsdp === 1) return 0;
    const over = link(cluster, degrees.tp, degrees.fsdp);
    const units = model.num_layers / degrees.pp + 1;
    const parts = sharedParameters(model, degrees) / units;
    const gather = allGather(model.weight_bytes * parts, degrees.fsdp, over);
    const scatter = allGather(model.gradient_bytes * parts, degrees.fsdp, over);
    return units * (2 * gather + scatter);
  }

  function replicateTime(model, cluster, degrees) {
    if (degrees.dp === 1) return 0;
    const gradients = (model.gradient_bytes * sharedParameters(model, degrees)) / degrees.fsdp;
    const over = link(cluster, degrees.tp * degrees.fsdp, degrees.dp);
    return allReduce(gradients, degrees.dp, over);
  }

  function times(model, cluster, degrees) {
    const flopPerS = cluster.peak_flop_per_s * cluster.efficiency;
    const [forwardFlop, flop] = stageFlop(model, degrees);
    const compute = flop / degrees.tp / flopPerS;
    const backward = compute - forwardFlop / degrees.tp / flopPerS;
    const tensor = tensorTime(model, cluster, degrees);
    const pipeline = pipelineTime(model, cluster, degrees);
    const gathers = shardTime(model, cluster, degrees);
    const shard = Math.max(0, gathers - compute);
    const room = Math.min(backward, Math.max(0, compute - gathers));
    const slot = compute + tensor + pipeline + shard;
    const count = degrees.num_micro_batches;
    const found = {
      compute: count * compute,
      tensor: count * tensor,
      pipeline: count * pipeline,
      shard: count * shard,
      replicate: Math.max(0, replicateTime(model, cluster, degrees) - room),
      bubble: (degrees.pp - 1) * slot,
    };
    const passes = found.compute + found.tensor + found.pipeline + found.shard;
    return { ...found, step: passes + found.bubble + found.replicate };
  }

  function limit(found, cluster, degrees) {
    const losses = ["bubble", "tensor", "shard", "replicate", "pipeline"];
    const worst = losses.reduce((most, name) => (found[name] > found[most] ? name : most));
    if (found[worst] < NOTABLE * found.step) return "compute";
    const { dp, fsdp, tp, pp } = degrees;
    const groups = {
      tensor: [1, tp],
      shard: [tp, fsdp],
      replicate: [tp * fsdp, dp],
      pipeline: [tp * fsdp * dp, pp],
    };
    if (!groups[worst]) return "bubble";
    return `${worst} ${link(cluster, ...groups[worst]).isBetween ? "between" : "inside"}`;
  }

  // candidates.py

  function divisors(number) {
    const small = [];
    for (let d = 1; d * d <= number; d += 1) if (number % d === 0) small.push(d);
    const large = small.filter((d) => d * d !== number).map((d) => number / d);
    return [...small, ...large.reverse()];
  }

  function* meshes(numGpus) {
    for (const dp of divisors(numGpus)) {
      for (const fsdp of divisors(numGpus / dp)) {
        for (const tp of divisors(numGpus / dp / fsdp)) {
          yield { dp, fsdp, tp, pp: numGpus / dp / fsdp / tp };
        }
      }
    }
  }

  function obstacle(model, { dp, fsdp, tp, pp }) {
    const divided = ["num_heads", "num_kv_heads", "feed_forward_width", "sequence"];
    const uneven = divided.find((name) => model[name] % tp);
    if (uneven) return uneven;
    if (model.num_layers % pp) return "num_layers";
    return model.global_batch % (dp * fsdp) ? "global_batch" : null;
  }

  function* layouts(model, mesh) {
    for (const count of divisors(model.global_batch / (mesh.dp * mesh.fsdp))) {
      for (const recomputes of [false, true]) {
        yield { ...mesh, num_micro_batches: count, recomputes };
      }
    }
  }

  // planner.py

  const NAMES = ["dp", "fsdp", "tp", "pp", "num_micro_batches", "recomputes"];

  // Fastest first; of equals the one that needs less memory, then the smaller degrees.
  function compare(one, two) {
    const order = one.step - two.step || one.memory - two.memory;
    if (order) return order;
    const name = NAMES.find((field) => one.degrees[field] !== two.degrees[field]);
    return name ? one.degrees[name] - two.degrees[name] : 0;
  }

  function withBlocked(feasible, tooLarge) {
    let next = 0;
    let smallest = null;
    for (const layout of feasible) {
      const enough = layout.step * NOTABLY_FASTER;
      for (; next < tooLarge.length && tooLarge[next].step < enough; next += 1) {
        if (!smallest || tooLarge[next].memory < smallest.memory) smallest = tooLarge[next];
      }
      layout.blocked = smallest;
    }
    return feasible;
  }

  function survey(model, cluster) {
    const usable = cluster.memory_bytes * cluster.usable_memory;
    const obstacles = {};
    const [feasible, tooLarge] = [[], []];
    for (const mesh of meshes(cluster.gpus_per_node * cluster.num_nodes)) {
      const reason = obstacle(model, mesh);
      if (reason) {
        obstacles[reason] = (obstacles[reason] ?? 0) + 1;
        continue;
      }
      for (const degrees of layouts(model, mesh)) {
        const found = times(model, cluster, degrees);
        const needed = memory(model, degrees).total;
        const layout = { degrees, memory: needed, step: found.step };
        if (needed <= usable) feasible.push({ ...layout, limit: limit(found, cluster, degrees) });
        else tooLarge.push(layout);
      }
    }
    feasible.sort(compare);
    tooLarge.sort(compare);
    return { feasible: withBlocked(feasible, tooLarge), tooLarge, obstacles };
  }

  globalThis.fuseshardPlanner = { survey, numParameters };
})();
