{{- define "agent.labels" -}}
app.kubernetes.io/name: fairlead-agent
{{- end }}

{{- define "agent.image" -}}
{{- with .Values.image.registry }}{{ . }}/{{ end }}{{ .Values.image.repository }}
{{- if or .Values.image.tag (not .Values.image.digest) }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- /* As whom pods run: fixed, or assigned by the platform. */}}
{{- define "agent.runAs" -}}
{{- if ne .Values.runAs "auto" }}{{ .Values.runAs }}
{{- else if has "security.openshift.io/v1" .Capabilities.APIVersions }}assigned
{{- else }}fixed{{ end }}
{{- end }}

{{- /* The repositories from which the hub may have images run. */}}
{{- define "agent.upgradeRepositories" -}}
{{- if .Values.upgrades.repositories }}{{ join "," .Values.upgrades.repositories }}
{{- else }}{{ with .Values.image.registry }}{{ . }}/{{ end }}{{ .Values.image.repository }}{{ end }}
{{- end }}

{{- /* The Secret with the join token; empty if there is none. */}}
{{- define "agent.joinSecret" -}}
{{- if .Values.join.token }}fairlead-agent-join{{ else }}{{ .Values.join.existingSecret }}{{ end }}
{{- end }}

{{- /* What it takes to apply objects of some kinds. What an agent never does is not among it: to update as a whole, to delete a
collection, to impersonate anybody but the accounts that it is to act as. Roles that give more than one has, Kubernetes lets nobody
make or bind without bind and escalate. An agent that is confined to namespaces and acts there as accounts only watches by itself. */}}
{{- define "agent.applyRules" -}}
{{- $watches := and .Values.asServiceAccount .Values.namespaces }}
{{- if not .Values.kinds }}
- {apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch{{ if not $watches }}, create, patch, delete{{ end }}]}
{{- if not $watches }}
- {apiGroups: [rbac.authorization.k8s.io], resources: [roles, clusterroles], verbs: [bind, escalate]}
{{- end }}
{{- end }}
{{- range .Values.kinds }}
{{- $kind := splitn "." 2 . }}
- {apiGroups: [{{ $kind._1 | default "" | quote }}], resources: [{{ quote $kind._0 }}], verbs: [get, list, watch{{ if not $watches }}, create, patch, delete{{ end }}]}
{{- if and (not $watches) (eq ($kind._1 | default "") "rbac.authorization.k8s.io") (hasSuffix "roles" $kind._0) }}
- {apiGroups: [rbac.authorization.k8s.io], resources: [{{ quote $kind._0 }}], verbs: [bind, escalate]}
{{- end }}
{{- end }}
{{- with .Values.asServiceAccount }}
- {apiGroups: [""], resources: [serviceaccounts], resourceNames: [{{ quote . }}], verbs: [impersonate]}
{{- end }}
{{- end }}

{{- /* Whether a kind runs pods or gives rights: yes, no, or unknown. All that is not listed here is unknown: what a custom kind makes is up to
whoever wrote its controller. */}}
{{- define "agent.kindRuns" -}}
{{- if or (eq . "deployments.apps") (eq . "replicasets.apps") (eq . "statefulsets.apps") (eq . "daemonsets.apps") (eq . "pods") (eq . "replicationcontrollers") (eq . "jobs.batch") (eq . "cronjobs.batch") (eq . "secrets") (eq . "roles.rbac.authorization.k8s.io") (eq . "rolebindings.rbac.authorization.k8s.io") -}}
yes
{{- else if or (eq . "configmaps") (eq . "services") (eq . "endpoints") (eq . "events") (eq . "limitranges") (eq . "persistentvolumeclaims") (eq . "resourcequotas") (eq . "serviceaccounts") (eq . "horizontalpodautoscalers.autoscaling") (eq . "leases.coordination.k8s.io") (eq . "endpointslices.discovery.k8s.io") (eq . "events.events.k8s.io") (eq . "ingresses.networking.k8s.io") (eq . "networkpolicies.networking.k8s.io") (eq . "poddisruptionbudgets.policy") -}}
no
{{- else -}}
unknown
{{- end }}
{{- end }}

{{- define "agent.unknownKind" -}}
namespaces has karmada-system, where the agent itself is, and kinds has {{ . }}, of which nobody here knows whether it runs pods or gives rights, by which the agent could change its own Deployment: if you know that it does not, add it to safeKinds as well (--safe-kinds of agent join); otherwise take it out of kinds (--kinds), set asServiceAccount (--as-service-account), or leave karmada-system out of namespaces (--namespaces)
{{- end }}

{{- /* Values that contradict one another, or that are missing. */}}
{{- define "agent.check" -}}
{{- with .Values }}
{{- if and .join.joined (or .join.token .join.existingSecret) }}
{{- fail "join.joined says that this cluster has joined, so no token is needed: unset join.token and join.existingSecret, or join.joined" }}
{{- end }}
{{- if and .join.token .join.existingSecret }}
{{- fail "join.token and join.existingSecret are both set: unset the one that is not to be used" }}
{{- end }}
{{- if not .join.joined }}
{{- if not (or .join.token .join.existingSecret) }}
{{- fail "there is no join token: set join.token or join.existingSecret to what `hub token create` printed, or join.joined=true if this cluster has joined" }}
{{- end }}
{{- if not .hub.addresses }}{{ fail "hub.addresses is empty: set it to the HOST:PORT that `hub token create` printed" }}{{ end }}
{{- if not .clusterName }}{{ fail "clusterName is empty: set it to the name that this cluster is to have on the hub" }}{{ end }}
{{- if and .hub.unsafeSkipCAVerification .hub.caCertHashes }}
{{- fail "hub.caCertHashes are given, and hub.unsafeSkipCAVerification says not to look at them: unset one of the two" }}
{{- end }}
{{- if not (or .hub.unsafeSkipCAVerification .hub.caCertHashes) }}
{{- fail "hub.caCertHashes is empty: set it to the sha256:HEX that `hub token create` printed" }}
{{- end }}
{{- end }}
{{- /* Whoever writes what runs pods or gives rights beside the agent writes its Deployment, or has the account of its guard. */}}
{{- if and (has "karmada-system" .namespaces) (not .asServiceAccount) }}
{{- if not .kinds }}
{{- fail "namespaces has karmada-system, where the agent itself is, and kinds is empty, so the agent could change its own Deployment: set kinds (--kinds of agent join) to some that run no pods and give no rights, such as configmaps, set asServiceAccount (--as-service-account), or leave karmada-system out of namespaces (--namespaces)" }}
{{- end }}
{{- range .kinds }}
{{- if eq (include "agent.kindRuns" .) "yes" }}
{{- fail "namespaces has karmada-system, where the agent itself is, and kinds has one that runs pods or gives rights, so the agent could change its own Deployment: take workloads, secrets, roles and rolebindings out of kinds (--kinds of agent join), set asServiceAccount (--as-service-account), or leave karmada-system out of namespaces (--namespaces)" }}
{{- end }}
{{- if and (eq (include "agent.kindRuns" .) "unknown") (not (has . $.Values.safeKinds)) }}
{{- fail (include "agent.unknownKind" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- range .safeKinds }}
{{- if eq (include "agent.kindRuns" .) "yes" }}
{{- fail "safeKinds has one that runs pods or gives rights, whatever is said of it: take workloads, secrets, roles and rolebindings out of safeKinds (--safe-kinds of agent join)" }}
{{- end }}
{{- end }}
{{- if and .upgrades.repositories (not .upgrades.enabled) }}
{{- fail "upgrades.repositories says which images the hub may have run, and upgrades.enabled is false: set upgrades.enabled=true, or unset upgrades.repositories" }}
{{- end }}
{{- if and (ne .state.size "1Gi") (ne .state.volume "claim") }}
{{- fail "state.size is set, and state.volume is not claim: set state.volume=claim, or unset state.size" }}
{{- end }}
{{- if and (eq .state.volume "hostPath") (not .state.hostPath) }}
{{- fail "state.volume is hostPath, and state.hostPath does not say which directory of the node: set it" }}
{{- end }}
{{- if and .state.hostPath (ne .state.volume "hostPath") }}
{{- fail "state.hostPath is set, and state.volume is not hostPath: set state.volume=hostPath, or unset state.hostPath" }}
{{- end }}
{{- if and .state.storageClass (ne .state.volume "claim") }}
{{- fail "state.storageClass is set, and state.volume is not claim: set state.volume=claim, or unset state.storageClass" }}
{{- end }}
{{- end }}
{{- with .Values.operators }}
{{- if and (not .who) (or .may .in .apiGroups) }}
{{- fail "operators.may, .in and .apiGroups say what operators of the hub may do, and operators.who lets nobody in: set it, or unset these" }}
{{- end }}
{{- if and .in (has "nodes/proxy" .may) }}
{{- fail "operators.may has nodes/proxy, which reaches into all namespaces, and operators.in names some: unset one of the two" }}
{{- end }}
{{- if and .legacyImpersonation $.Values.namespaces (eq (include "connect.anyUser" $) "yes") }}
{{- fail "operators.who has a group: before Kubernetes 1.36 the agent would have to be able to impersonate all users, and it is confined to namespaces: name each user" }}
{{- end }}
{{- end }}
{{- if ne .Release.Namespace "karmada-system" }}
{{- fail "the agent runs in the namespace karmada-system, where `agent leave` and upgrades look for it: add --namespace karmada-system" }}
{{- end }}
{{- end }}

{{- /* Whether operators come with names that are not listed: a group is, and RBAC knows no prefix of names. */}}
{{- define "connect.anyUser" -}}
{{- $any := "no" }}
{{- range .Values.operators.who }}
{{- $who := splitn ":" 2 . }}
{{- if eq $who._0 "group" }}{{ $any = "yes" }}{{ end }}
{{- end }}
{{- $any }}
{{- end }}

{{- /* Verbs of RBAC by which operators do something: in the mode for users, and in that for ServiceAccounts, of which there may be none. */}}
{{- define "connect.get" }}"impersonate-on:user-info:get", "impersonate-on:serviceaccount:get"{{ end }}
{{- define "connect.create" }}"impersonate-on:user-info:create", "impersonate-on:serviceaccount:create"{{ end }}
{{- define "connect.read" }}{{ include "connect.get" . }}, "impersonate-on:user-info:list", "impersonate-on:user-info:watch", "impersonate-on:serviceaccount:list", "impersonate-on:serviceaccount:watch"{{ end }}
{{- define "connect.change" }}"impersonate-on:user-info:update", "impersonate-on:user-info:patch", "impersonate-on:user-info:delete", "impersonate-on:serviceaccount:update", "impersonate-on:serviceaccount:patch", "impersonate-on:serviceaccount:delete"{{ end }}
{{- define "connect.write" }}{{ include "connect.create" . }}, {{ include "connect.change" . }}, "impersonate-on:user-info:deletecollection", "impersonate-on:serviceaccount:deletecollection"{{ end }}

{{- /* What operators may do, wherever that is. In the API group of pods and Secrets each resource is named, since exec and proxies are
subresources that reading with "*" would open. */}}
{{- define "connect.rules" -}}
{{- with .Values.operators }}
- apiGroups: [""]
  resources:
  - componentstatuses
  - configmaps
  - endpoints
  - events
  - limitranges
  - namespaces
  - namespaces/status
  - nodes
  - nodes/status
  - persistentvolumeclaims
  - persistentvolumeclaims/status
  - persistentvolumes
  - persistentvolumes/status
  - pods
  - pods/log
  - pods/status
  - podtemplates
  - replicationcontrollers
  - replicationcontrollers/scale
  - replicationcontrollers/status
  - resourcequotas
  - resourcequotas/status
  - serviceaccounts
  - services
  - services/status
  {{- if has "write" .may }}
  - pods/eviction
  - pods/resize
  {{- end }}
  {{- if and (has "write" .may) (has "exec" .may) }}
  - pods/ephemeralcontainers
  {{- end }}
  {{- if has "secrets" .may }}
  - secrets
  {{- end }}
  verbs: [{{ include "connect.read" . }}{{ if has "write" .may }}, {{ include "connect.write" . }}{{ end }}]
- apiGroups:
  - admissionregistration.k8s.io
  - apiextensions.k8s.io
  - apiregistration.k8s.io
  - apps
  - autoscaling
  - batch
  - certificates.k8s.io
  - coordination.k8s.io
  - discovery.k8s.io
  - events.k8s.io
  - flowcontrol.apiserver.k8s.io
  - gateway.networking.k8s.io
  - metrics.k8s.io
  - networking.k8s.io
  - node.k8s.io
  - policy
  - rbac.authorization.k8s.io
  - resource.k8s.io
  - scheduling.k8s.io
  - storage.k8s.io
  {{- range .apiGroups }}
  - {{ quote . }}
  {{- end }}
  resources: ["*"]
  verbs: [{{ include "connect.read" . }}{{ if has "write" .may }}, {{ include "connect.write" . }}{{ end }}]
{{- if has "exec" .may }}
# A WebSocket is opened by GET.
- {apiGroups: [""], resources: [pods/exec, pods/attach], verbs: [{{ include "connect.get" . }}, {{ include "connect.create" . }}]}
{{- end }}
{{- if has "port-forward" .may }}
- {apiGroups: [""], resources: [pods/portforward], verbs: [{{ include "connect.get" . }}, {{ include "connect.create" . }}]}
{{- end }}
{{- if has "secrets" .may }}
- {apiGroups: [""], resources: [serviceaccounts/token], verbs: [{{ include "connect.create" . }}]}
{{- end }}
{{- if has "pods/proxy" .may }}
- {apiGroups: [""], resources: [pods/proxy], verbs: [{{ include "connect.get" . }}, {{ include "connect.create" . }}, {{ include "connect.change" . }}]}
{{- end }}
{{- if has "services/proxy" .may }}
- {apiGroups: [""], resources: [services/proxy], verbs: [{{ include "connect.get" . }}, {{ include "connect.create" . }}, {{ include "connect.change" . }}]}
{{- end }}
{{- if has "nodes/proxy" .may }}
- {apiGroups: [""], resources: [nodes/proxy], verbs: [{{ include "connect.get" . }}, {{ include "connect.create" . }}, {{ include "connect.change" . }}]}
{{- end }}
{{- end }}
{{- end }}
