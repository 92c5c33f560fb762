-- What the rules of several kinds need. Rules require it by the name "rules".
local kube = require("kube")
-- What adds up a field of all clusters is not written in Lua: there may be thousands.
local clusters = require("clusters")

local rules = {}

-- get returns what is at a path in a table, or nil if any part of the way is missing. It is
-- called often; what has more parts than it has parameters goes on from where these lead.
function rules.get(t, first, second, third, ...)
  if first == nil then
    return t
  end
  if type(t) ~= "table" then
    return nil
  end
  t = t[first]
  if second == nil or t == nil then
    return t
  end
  if type(t) ~= "table" then
    return nil
  end
  t = t[second]
  if third == nil or t == nil then
    return t
  end
  return rules.get(t, third, ...)
end

-- number returns the number at a path, or nil if nothing is there. What is no number is an
-- error that names the field.
function rules.number(t, ...)
  local value = rules.get(t, ...)
  if value == nil or type(value) == "number" then
    return value
  end
  local shown = "a " .. type(value)
  if type(value) == "string" then
    shown = string.format("the text %q", value)
  end
  error(table.concat({...}, ".") .. " must be a number, but is " .. shown, 0)
end

-- condition returns the condition of a type, or nil.
function rules.condition(obj, kind)
  for _, condition in ipairs(rules.get(obj, "status", "conditions") or {}) do
    if condition.type == kind then
      return condition
    end
  end
  return nil
end

-- isTrue says whether a condition is True, and has one of the reasons if any are given.
function rules.isTrue(obj, kind, ...)
  local condition = rules.condition(obj, kind)
  if condition == nil or condition.status ~= "True" then
    return false
  end
  for i = 1, select("#", ...) do
    if condition.reason == select(i, ...) then
      return true
    end
  end
  return select("#", ...) == 0
end

-- observed says whether the status is about the latest generation of the object.
function rules.observed(obj)
  local generation = rules.get(obj, "metadata", "generation")
  local seen = rules.get(obj, "status", "observedGeneration")
  return generation == nil or (seen ~= nil and tonumber(seen) >= generation)
end

-- reflect returns these fields of the status, those that exist.
function rules.reflect(obj, fields)
  local out = {}
  for _, field in ipairs(fields) do
    out[field] = rules.get(obj, "status", field)
  end
  return out
end

-- reflectWithGenerations returns the same, and what observedGeneration needs on the hub:
-- which generation the member's controller has seen, which the member's object has, and
-- which of the template that was.
function rules.reflectWithGenerations(obj, fields)
  if obj.status == nil then
    return {}
  end
  local out = rules.reflect(obj, fields)
  out.observedGeneration = obj.status.observedGeneration
  out.generation = rules.get(obj, "metadata", "generation")
  out.resourceTemplateGeneration = tonumber(rules.get(obj, "metadata", "annotations", "resourcetemplate.karmada.io/generation"))
  return out
end

-- sum returns the sums of fields over the items that have a status.
rules.sum = clusters.sum

-- last returns, for each field, the value of the last item that has one.
rules.last = clusters.last

-- observedGeneration returns what status.observedGeneration of the template is: its
-- generation once every member has seen it, and until then what it was.
function rules.observedGeneration(obj, items)
  local generation = rules.get(obj, "metadata", "generation") or 0
  if clusters.observed(items, generation) then
    return generation
  end
  return rules.get(obj, "status", "observedGeneration")
end

-- conditions returns the conditions of all items. Those of the same type, status and
-- reason are one, whose message says which cluster said what.
rules.conditions = clusters.conditions

-- refs returns a collector of what an object in a namespace needs beside it.
function rules.refs(namespace)
  local refs = { found = {} }

  -- What has no name, or nobody knows the kind of, is left out.
  function refs:add(apiVersion, kind, name)
    if apiVersion ~= nil and kind ~= nil and name ~= nil and name ~= "" then
      self.found[#self.found + 1] = { apiVersion = apiVersion, kind = kind, namespace = namespace, name = name }
    end
  end

  -- clusterScoped adds an object that is in no namespace.
  function refs:clusterScoped(apiVersion, kind, name)
    if name ~= nil and name ~= "" then
      self.found[#self.found + 1] = { apiVersion = apiVersion, kind = kind, name = name }
    end
  end

  function refs:secret(name) self:add("v1", "Secret", name) end
  function refs:configMap(name) self:add("v1", "ConfigMap", name) end
  function refs:claim(name) self:add("v1", "PersistentVolumeClaim", name) end

  -- Every namespace has a service account "default" of its own.
  function refs:serviceAccount(name)
    if name ~= "default" then
      self:add("v1", "ServiceAccount", name)
    end
  end

  function refs:pod(template)
    if template ~= nil then
      for _, ref in ipairs(kube.getPodDependencies(template, namespace) or {}) do
        self.found[#self.found + 1] = ref
      end
    end
  end

  function refs:list() return self.found end

  return refs
end

-- component returns a part of a workload that has several pod templates.
function rules.component(name, replicas, template)
  local component = { name = name, replicas = replicas }
  if template ~= nil then
    component.replicaRequirements = kube.accuratePodRequirements(template)
  end
  return component
end

-- reported returns the items that have a status.
rules.reported = clusters.reported

-- only returns a copy of the status of the only item that there is, or nil: what one
-- member says is the truth about an object that nobody else has. The generations that the
-- reflection added for the aggregation are not part of it.
function rules.only(items)
  if items == nil or #items ~= 1 or items[1].status == nil then
    return nil
  end
  local status = {}
  for field, value in pairs(items[1].status) do
    if field ~= "generation" and field ~= "resourceTemplateGeneration" then
      status[field] = value
    end
  end
  return status
end

-- fields returns a new table with the named fields of t, those that exist.
function rules.fields(t, names)
  local out = {}
  for _, name in ipairs(names) do
    out[name] = rules.get(t, name)
  end
  return out
end

-- earliest returns the smallest text in a field of the items' status, or nil. Times are
-- text that sorts by time.
rules.earliest = clusters.earliest

-- latest returns the largest text in a field of the items' status, or nil.
rules.latest = clusters.latest

-- finished returns the latest text in a field once every item has it, or nil.
function rules.finished(items, field)
  for _, item in ipairs(items or {}) do
    if rules.get(item, "status", field) == nil then
      return nil
    end
  end
  return rules.latest(items, field)
end

local seconds = {h = 3600, m = 60, s = 1, ms = 1e-3, us = 1e-6, ["µs"] = 1e-6, ns = 1e-9}

-- longestOf returns the longest of the durations in a field of the items' status, such as
-- "1h2m3.5s", or nil.
function rules.longestOf(items, field)
  local out, longestYet
  for _, item in ipairs(items or {}) do
    local value, total = rules.get(item, "status", field), 0
    if type(value) == "string" then
      for number, unit in string.gmatch(value, "([%d%.]+)([^%d%.]+)") do
        total = total + (tonumber(number) or 0) * (seconds[unit] or 0)
      end
      if longestYet == nil or total > longestYet then
        out, longestYet = value, total
      end
    end
  end
  return out
end

-- worst returns what one field of the items' status is together: the first value of order
-- that an item has; else the last one that is not empty.
function rules.worst(items, order, ...)
  local present, last = {}, nil
  for _, item in ipairs(items or {}) do
    local value = rules.get(item, "status", ...)
    if value ~= nil and value ~= "" then
      present[value], last = true, value
    end
  end
  for _, value in ipairs(order) do
    if present[value] then
      return value
    end
  end
  return last
end

-- said joins what the items say in one field of their status: "cluster=text, cluster=text"; nil
-- if they say nothing.
rules.said = clusters.said

-- mergeConditions makes one condition per type, as kinds demand whose conditions are a map
-- by type, of sources: a list of {cluster, conditions, current}. A type is as bad as the
-- worst source says, and Unknown if a source does not have it. Types in any are bad when
-- they are True, and sources without them do not count. The conditions say generation as
-- their observedGeneration if all sources are current.
rules.mergeConditions = clusters.mergeConditions

-- current says whether an item's status is about the template as it is now.
function rules.current(obj, item)
  local status = item.status or {}
  local generation = rules.get(obj, "metadata", "generation") or 0
  return (status.resourceTemplateGeneration or 0) >= generation
end

-- conditionsByType is mergeConditions of the conditions in the items' status.
function rules.conditionsByType(obj, items, any)
  return clusters.conditionsByType(items, any, rules.get(obj, "metadata", "generation"))
end

-- retainReplicas takes a number at the path over from live if desired has the label that
-- says that something in the member scales it.
function rules.retainReplicas(desired, live, ...)
  if rules.get(desired, "metadata", "labels", "resourcetemplate.karmada.io/retain-replicas") ~= "true" then
    return desired
  end
  return rules.keep(desired, live, ...)
end

-- training is what the jobs of Kubeflow have in common.
rules.training = {}

-- template returns the entry of a map of replica specs, whose keys the operators read
-- without regard to case.
local function replicaSpec(specs, name)
  for key, spec in pairs(specs or {}) do
    if string.lower(key) == string.lower(name) then
      return spec
    end
  end
end

-- components returns a component for each of the names that specs has; defaults has the
-- replicas of those that are not 1 unless they say so.
function rules.training.components(specs, names, defaults)
  local out = {}
  for _, name in ipairs(names) do
    local spec = replicaSpec(specs, name)
    if spec ~= nil then
      local replicas = rules.number({[name] = spec}, name, "replicas") or (defaults or {})[name] or 1
      out[#out + 1] = rules.component(name, replicas, spec.template)
    end
  end
  return out
end

-- dependencies returns what the pods of all specs need.
function rules.training.dependencies(obj, specs)
  local refs = rules.refs(rules.get(obj, "metadata", "namespace"))
  for _, spec in pairs(specs or {}) do
    refs:pod(spec.template)
  end
  return refs:list()
end

local trainingFields = {"conditions", "replicaStatuses", "startTime", "completionTime"}

-- reflect leaves out lastReconcileTime, which changes when nothing else does.
function rules.training.reflect(obj)
  return rules.reflect(obj, trainingFields)
end

-- healthy says whether a job goes its way: it has been taken up, and has not failed. One that
-- waits or restarts pods is on its way.
function rules.training.healthy(obj)
  return next(rules.get(obj, "status", "conditions") or {}) ~= nil and not rules.isTrue(obj, "Failed")
end

-- aggregate adds the members' jobs up to one: it failed when one did, and succeeded when
-- all did.
function rules.training.aggregate(obj, items)
  if #rules.reported(items) == 0 then
    return obj
  end
  if rules.only(items) ~= nil then
    obj.status = rules.fields(rules.only(items), trainingFields)
    return obj
  end
  local status = {
    startTime = rules.earliest(items, "startTime"),
    completionTime = rules.finished(items, "completionTime"),
    conditions = {},
    replicaStatuses = {},
  }
  local byType = {}
  for _, condition in ipairs(rules.conditionsByType(obj, items, {"Created", "Failed", "Restarting", "Running"})) do
    byType[condition.type] = condition
  end
  -- The last condition is what tables show as the state.
  for _, name in ipairs({"Created", "Suspended", "Running", "Restarting", "Succeeded", "Failed"}) do
    local condition = byType[name]
    if condition ~= nil and condition.status ~= "Unknown" then
      table.insert(status.conditions, condition)
    end
  end
  for _, item in ipairs(rules.reported(items)) do
    for name, counts in pairs(item.status.replicaStatuses or {}) do
      local sum = status.replicaStatuses[name] or {}
      status.replicaStatuses[name] = sum
      for _, field in ipairs({"active", "succeeded", "failed"}) do
        if counts[field] ~= nil then
          sum[field] = (sum[field] or 0) + counts[field]
        end
      end
    end
  end
  obj.status = status
  return obj
end

-- largest returns, per resource, the largest of the components' requests: what a replica
-- needs at most of a kind whose replicas differ.
function rules.largest(components)
  local out = {}
  for _, component in ipairs(components) do
    for name, quantity in pairs(rules.get(component, "replicaRequirements", "resourceRequest") or {}) do
      if out[name] == nil or kube.getResourceQuantity(quantity) > kube.getResourceQuantity(out[name]) then
        out[name] = quantity
      end
    end
  end
  return out
end

-- ray is what the kinds of KubeRay have in common.
rules.ray = {}

-- workers returns how many pods the operator makes for a worker group.
function rules.ray.workers(group)
  local replicas = group.replicas or group.minReplicas or 0
  if group.suspend then
    return 0
  end
  if group.minReplicas ~= nil and replicas < group.minReplicas then
    replicas = group.minReplicas
  end
  if group.maxReplicas ~= nil and replicas > group.maxReplicas then
    replicas = group.maxReplicas
  end
  return replicas * (group.numOfHosts or 1)
end

-- components returns the head and the worker groups of a RayClusterSpec.
function rules.ray.components(cluster)
  local out = {}
  local head = rules.get(cluster, "headGroupSpec")
  if head ~= nil then
    out[1] = rules.component("ray-head", 1, head.template)
  end
  for i, group in ipairs(rules.get(cluster, "workerGroupSpecs") or {}) do
    local name = group.groupName
    if name == nil or name == "" then
      name = "worker-" .. i
    end
    out[#out + 1] = rules.component(name, rules.ray.workers(group), group.template)
  end
  return out
end

-- dependencies adds what the pods of a RayClusterSpec need.
function rules.ray.dependencies(refs, cluster)
  refs:pod(rules.get(cluster, "headGroupSpec", "template"))
  for _, group in ipairs(rules.get(cluster, "workerGroupSpecs") or {}) do
    refs:pod(group.template)
  end
  refs:secret(rules.get(cluster, "gcsFaultToleranceOptions", "redisPassword", "valueFrom", "secretKeyRef", "name"))
  refs:secret(rules.get(cluster, "gcsFaultToleranceOptions", "redisUsername", "valueFrom", "secretKeyRef", "name"))
end

-- spark is what the kinds of the Spark operator have in common. Its functions take a
-- SparkApplicationSpec.
rules.spark = {}

-- Spark counts memory in mebibytes unless a unit says otherwise, and all units are binary.
local mebibytes = {[""] = 1, b = 1 / 1048576, k = 1 / 1024, m = 1, g = 1024, t = 1048576}

-- memory returns the mebibytes in a Spark memory string, or nil if it is none.
local function memory(text)
  if text == nil then
    return nil
  end
  local number, unit = string.match(string.lower(tostring(text)), "^%s*([%d%.]+)%s*([bkmgt]?)i?b?%s*$")
  if tonumber(number) == nil then
    return nil
  end
  return tonumber(number) * mebibytes[unit]
end

-- podTemplate returns the pod that the operator makes for a role, driver or executor.
local function sparkPod(spec, name)
  local role = spec[name] or {}
  local conf = spec.sparkConf or {}
  local heap = memory(role.memory) or memory(conf["spark." .. name .. ".memory"]) or 1024
  local overhead = memory(role.memoryOverhead) or memory(conf["spark." .. name .. ".memoryOverhead"])
  if overhead == nil then
    local factor = tonumber(spec.memoryOverheadFactor)
    if factor == nil then
      -- What is not of the JVM takes more memory beside its heap.
      factor = 0.4
      if spec.type == nil or spec.type == "Java" or spec.type == "Scala" then
        factor = 0.1
      end
    end
    overhead = math.max(heap * factor, 384)
  end
  local cpu = role.coreRequest or conf["spark.kubernetes." .. name .. ".request.cores"]
    or role.cores or conf["spark." .. name .. ".cores"] or 1
  local requests = {cpu = tostring(cpu), memory = string.format("%dMi", math.ceil(heap + overhead))}
  local gpu = role.gpu
  if gpu ~= nil and gpu.name ~= nil and gpu.quantity ~= nil then
    requests[gpu.name] = tostring(gpu.quantity)
  end

  local template = rules.get(role, "template", "spec") or {}
  local containers = {{
    name = "spark-kubernetes-" .. name,
    resources = {requests = requests},
    env = role.env,
    envFrom = role.envFrom,
  }}
  for _, sidecar in ipairs(role.sidecars or {}) do
    containers[#containers + 1] = sidecar
  end
  local secrets = {}
  for _, secret in ipairs(spec.imagePullSecrets or {}) do
    secrets[#secrets + 1] = {name = secret}
  end
  return {spec = {
    containers = containers,
    initContainers = role.initContainers,
    volumes = spec.volumes,
    imagePullSecrets = secrets,
    nodeSelector = role.nodeSelector or spec.nodeSelector or template.nodeSelector,
    affinity = role.affinity or template.affinity,
    tolerations = role.tolerations or template.tolerations,
    priorityClassName = role.priorityClassName or template.priorityClassName,
  }}
end

-- executors returns how many executors an application starts with.
local function executors(spec)
  local instances = rules.get(spec, "executor", "instances") or tonumber(rules.get(spec, "sparkConf", "spark.executor.instances"))
  local dynamic = spec.dynamicAllocation
  if dynamic == nil or dynamic.enabled ~= true then
    return instances or 1
  end
  return math.max(instances or 0, dynamic.initialExecutors or 0, dynamic.minExecutors or 0)
end

function rules.spark.components(spec)
  if spec == nil then
    return {}
  end
  return {
    rules.component("driver", 1, sparkPod(spec, "driver")),
    rules.component("executor", executors(spec), sparkPod(spec, "executor")),
  }
end

function rules.spark.dependencies(obj, spec)
  local refs = rules.refs(rules.get(obj, "metadata", "namespace"))
  if spec == nil then
    return refs:list()
  end
  refs:configMap(spec.sparkConfigMap)
  refs:configMap(spec.hadoopConfigMap)
  for _, name in ipairs({"driver", "executor"}) do
    local role = spec[name] or {}
    refs:pod(sparkPod(spec, name))
    refs:pod(role.template)
    refs:serviceAccount(role.serviceAccount)
    for _, configMap in ipairs(role.configMaps or {}) do
      refs:configMap(configMap.name)
    end
    for _, secret in ipairs(role.secrets or {}) do
      refs:secret(secret.name)
    end
    for _, variable in pairs(role.envSecretKeyRefs or {}) do
      refs:secret(variable.name)
    end
  end
  return refs:list()
end

rules.flink = {}

-- Flink's units of memory are binary; what is none of them is a quantity of Kubernetes.
local flinkUnits = {
  [""] = 1, b = 1, bytes = 1,
  k = 1024, kb = 1024, kibibytes = 1024,
  m = 1048576, mb = 1048576, mebibytes = 1048576,
  g = 1073741824, gb = 1073741824, gibibytes = 1073741824,
  t = 1099511627776, tb = 1099511627776, tebibytes = 1099511627776,
}

local function flinkMemory(text)
  local number, unit = string.match(string.lower(tostring(text)), "^%s*(%d+)%s*(%a*)%s*$")
  if number ~= nil and flinkUnits[unit] ~= nil then
    return string.format("%.0f", tonumber(number) * flinkUnits[unit])
  end
  return tostring(text)
end

-- option returns an option of Flink's configuration, which is flat or nested.
local function flinkOption(obj, name)
  local t = rules.get(obj, "spec", "flinkConfiguration")
  if type(t) ~= "table" then
    return nil
  end
  if t[name] ~= nil then
    return t[name]
  end
  for key in string.gmatch(name, "[^%.]+") do
    if type(t) ~= "table" then
      return nil
    end
    t = t[key]
  end
  if type(t) ~= "table" then
    return t
  end
end

-- pod returns the pod template of a role: what the role and the deployment say, with the
-- role's resources for the container that runs Flink.
local function flinkPod(obj, role, prefix)
  local common = rules.get(obj, "spec", "podTemplate", "spec") or {}
  local own = rules.get(obj, "spec", role, "podTemplate", "spec") or {}
  local resource = rules.get(obj, "spec", role, "resource") or {}
  local cpu = resource.cpu or flinkOption(obj, "kubernetes." .. prefix .. ".cpu.amount")
    or flinkOption(obj, "kubernetes." .. prefix .. ".cpu") or 1
  local memory = resource.memory or flinkOption(obj, prefix .. ".memory.process.size")
  local requests = {cpu = tostring(cpu)}
  if memory ~= nil then
    requests.memory = flinkMemory(memory)
  end
  if resource.ephemeralStorage ~= nil then
    requests["ephemeral-storage"] = flinkMemory(resource.ephemeralStorage)
  end
  local containers = {{name = "flink-main-container", resources = {requests = requests}}}
  for _, container in ipairs(own.containers or common.containers or {}) do
    if container.name ~= "flink-main-container" then
      containers[#containers + 1] = container
    end
  end
  return {spec = {
    containers = containers,
    initContainers = own.initContainers or common.initContainers,
    nodeSelector = own.nodeSelector or common.nodeSelector,
    affinity = own.affinity or common.affinity,
    tolerations = own.tolerations or common.tolerations,
    priorityClassName = own.priorityClassName or common.priorityClassName,
  }}
end

local function taskManagers(obj)
  local replicas = rules.get(obj, "spec", "taskManager", "replicas")
  local parallelism = rules.get(obj, "spec", "job", "parallelism")
  if replicas ~= nil or parallelism == nil then
    return replicas or 1
  end
  local slots = tonumber(flinkOption(obj, "taskmanager.numberOfTaskSlots")) or 1
  return math.ceil(parallelism / math.max(slots, 1))
end

-- components returns the job managers and the task managers of a FlinkDeployment; the
-- operator starts as many task managers as the job's parallelism fills.
function rules.flink.components(obj)
  return {
    rules.component("jobmanager", rules.get(obj, "spec", "jobManager", "replicas") or 1, flinkPod(obj, "jobManager", "jobmanager")),
    rules.component("taskmanager", taskManagers(obj), flinkPod(obj, "taskManager", "taskmanager")),
  }
end

-- selected adds what anything in t selects by name and key, or names as secretName: a
-- ConfigMap below a field that is called after one, else a Secret.
function rules.selected(refs, t, field)
  if type(t) ~= "table" then
    return
  end
  if type(t.secretName) == "string" then
    refs:secret(t.secretName)
  end
  if type(t.name) == "string" and type(t.key) == "string" then
    if string.find(string.lower(field or ""), "configmap", 1, true) ~= nil then
      refs:configMap(t.name)
    else
      refs:secret(t.name)
    end
    return
  end
  for key, value in pairs(t) do
    local inner = field
    if type(key) == "string" then
      inner = key
    end
    rules.selected(refs, value, inner)
  end
end

-- union returns the entries of a list in the items' status, each once and not more than
-- most: entries are equal whose key is.
function rules.union(items, field, key, most)
  local out, seen = {}, {}
  for _, item in ipairs(items or {}) do
    for _, entry in ipairs(rules.get(item, "status", field) or {}) do
      local id = key(entry)
      if not seen[id] and #out < most then
        seen[id] = true
        out[#out + 1] = entry
      end
    end
  end
  return out
end

-- requirements returns what each pod of a template needs, or nil if there is no template.
function rules.requirements(podTemplate)
  if podTemplate == nil then
    return nil
  end
  return kube.accuratePodRequirements(podTemplate)
end

-- keep takes over what the live object has at the path, if it has anything there.
function rules.keep(desired, live, ...)
  local value = rules.get(live, ...)
  if value == nil then
    return desired
  end
  local path = {...}
  local last = table.remove(path)
  local parent = desired
  for _, key in ipairs(path) do
    if type(parent[key]) ~= "table" then
      parent[key] = {}
    end
    parent = parent[key]
  end
  parent[last] = value
  return desired
end

-- withoutClaims returns the pod template without the volumes whose claims the workload
-- makes by itself from templates of its own.
function rules.withoutClaims(podTemplate, claimTemplates)
  local made = {}
  for _, template in ipairs(claimTemplates or {}) do
    made[rules.get(template, "metadata", "name") or ""] = true
  end
  local volumes = {}
  for _, volume in ipairs(rules.get(podTemplate, "spec", "volumes") or {}) do
    if not made[rules.get(volume, "persistentVolumeClaim", "claimName")] then
      table.insert(volumes, volume)
    end
  end
  if podTemplate ~= nil and podTemplate.spec ~= nil then
    podTemplate.spec.volumes = volumes
  end
  return podTemplate
end

-- aggregateWorkload adds the counters of all clusters up, takes the latest of other
-- fields, and tells which generation all of them have observed. The rest of the status
-- stays.
function rules.aggregateWorkload(obj, items, counters, latest)
  obj.status = obj.status or {}
  for field, sum in pairs(rules.sum(items, counters)) do
    obj.status[field] = sum
  end
  for field, value in pairs(rules.last(items, latest)) do
    obj.status[field] = value
  end
  obj.status.observedGeneration = rules.observedGeneration(obj, items)
  return obj
end

-- aggregateReadiness makes the status of a kind that tells by conditions how it is: those
-- of all clusters, the latest of other fields, and which generation all have observed.
function rules.aggregateReadiness(obj, items, latest)
  local observed = rules.observedGeneration(obj, items)
  obj.status = rules.last(items, latest)
  obj.status.conditions = rules.conditions(items)
  obj.status.observedGeneration = observed
  return obj
end

-- fluxReady says whether an object of Flux is ready. One that is suspended observes no
-- generation, and is as ready as it was.
function rules.fluxReady(obj)
  return rules.isTrue(obj, "Ready")
    and (rules.get(obj, "spec", "suspend") == true or rules.observed(obj))
end

-- certManagerReady says whether an object of cert-manager is ready: its conditions, and
-- not its status, tell of which generation they speak.
function rules.certManagerReady(obj)
  local ready = rules.condition(obj, "Ready")
  if ready == nil or ready.status ~= "True" then
    return false
  end
  local generation = rules.get(obj, "metadata", "generation")
  return generation == nil or ready.observedGeneration == nil or ready.observedGeneration >= generation
end

-- issuerRefs adds what an issuer of cert-manager names: its kinds of authorities and
-- solvers all name secrets and service accounts alike.
function rules.issuerRefs(refs, part)
  for key, value in pairs(part or {}) do
    if key == "privateKeySecretRef" and not part.disableAccountKeyGeneration then
      -- The issuer makes the key of its account.
    elseif key == "secretName" then
      refs:secret(value)
    elseif key == "serviceAccountRef" then
      refs:serviceAccount(value.name)
    elseif key == "credentialsRef" or string.find(tostring(key), "[sS]ecretRef$") then
      refs:secret(value.name)
    elseif type(value) == "table" then
      rules.issuerRefs(refs, value)
    end
  end
  return refs
end

-- externalSecretFetched says whether an ExternalSecret was fetched as it is now. One that
-- is fetched only once stays as it was then.
function rules.externalSecretFetched(obj)
  if rules.get(obj, "spec", "refreshPolicy") == "CreatedOnce"
    or string.find(rules.get(obj, "spec", "refreshInterval") or "1h", "^[0hms]+$") then
    return true
  end
  local synced = string.match(rules.get(obj, "status", "syncedResourceVersion") or "", "^(%d+)-")
  local generation = rules.get(obj, "metadata", "generation")
  return synced == nil or generation == nil or tonumber(synced) >= generation
end

-- externalSecretRefs returns the stores, generators and templates of an ExternalSecret.
function rules.externalSecretRefs(obj)
  local refs = rules.refs(rules.get(obj, "metadata", "namespace"))
  local function store(ref)
    if ref == nil then
      return
    end
    if ref.kind == "ClusterSecretStore" then
      refs:clusterScoped(obj.apiVersion, ref.kind, ref.name)
    else
      refs:add(obj.apiVersion, "SecretStore", ref.name)
    end
  end
  local function source(from)
    store(rules.get(from, "storeRef"))
    local generator = rules.get(from, "generatorRef") or {}
    local apiVersion = generator.apiVersion or "generators.external-secrets.io/v1alpha1"
    if generator.kind == "ClusterGenerator" then
      refs:clusterScoped(apiVersion, generator.kind, generator.name)
    else
      refs:add(apiVersion, generator.kind, generator.name)
    end
  end
  store(rules.get(obj, "spec", "secretStoreRef"))
  for _, list in ipairs({ "data", "dataFrom" }) do
    for _, entry in ipairs(rules.get(obj, "spec", list) or {}) do
      source(entry.sourceRef)
    end
  end
  for _, from in ipairs(rules.get(obj, "spec", "target", "template", "templateFrom") or {}) do
    refs:configMap(rules.get(from, "configMap", "name"))
    refs:secret(rules.get(from, "secret", "name"))
  end
  return refs:list()
end

-- holdsBack says whether a partition of OpenKruise, a number or a percentage, holds any
-- pod back at the old revision.
function rules.holdsBack(partition)
  return (tonumber(string.match(tostring(partition or 0), "^%d+")) or 0) > 0
end

return rules
