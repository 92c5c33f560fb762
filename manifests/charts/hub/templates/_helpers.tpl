{{- define "hub.labels" -}}
app.kubernetes.io/name: fairlead-hub
{{- end }}

{{- define "hub.image" -}}
{{- with .Values.image.registry }}{{ . }}/{{ end }}{{ .Values.image.repository }}
{{- if or .Values.image.tag (not .Values.image.digest) }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- define "hub.resources" -}}
{{- if .Values.resources }}{{ toYaml .Values.resources }}
{{- else if eq .Values.mode "embedded" -}}
requests: {cpu: 500m, memory: 1Gi}
limits: {memory: 4Gi}
{{- else -}}
requests: {cpu: 100m, memory: 256Mi}
limits: {memory: 2Gi}
{{- end }}
{{- end }}

{{- /* Where the pod may run, and from where its image comes. */}}
{{- define "hub.place" -}}
{{- with .Values.priorityClassName }}
priorityClassName: {{ quote . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 0 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 0 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Values that contradict one another, or that are missing. */}}
{{- define "hub.check" -}}
{{- with .Values }}
{{- if eq .mode "embedded" }}
{{- if .external.advertiseURL }}
{{- fail "external.advertiseURL is set, and mode is embedded: set mode=external, or embedded.advertiseHost instead" }}
{{- end }}
{{- if or .external.connect.enabled .external.connect.service }}
{{- fail "external.connect is set, and mode is embedded, whose API finds the hub by itself: unset it" }}
{{- end }}
{{- if ne .external.kubeconfigSecret "fairlead-hub" }}
{{- fail "external.kubeconfigSecret is set, and mode is embedded, which has an API of its own: set mode=external, or unset it" }}
{{- end }}
{{- if ne (int .external.replicas) 2 }}
{{- fail "external.replicas is set, and mode is embedded, which is one pod with the database on its volume: set mode=external, or unset it" }}
{{- end }}
{{- if not .embedded.advertiseHost }}
{{- fail "embedded.advertiseHost is empty: set it to the name or address under which members reach the Service fairlead-hub" }}
{{- end }}
{{- if and .embedded.backup.every (not .embedded.backup.claim) }}
{{- fail "embedded.backup.every is set, and embedded.backup.claim does not say where backups go: set it to the name of a PersistentVolumeClaim" }}
{{- end }}
{{- if and .embedded.backup.every (not .embedded.backup.recipients) }}
{{- fail "embedded.backup.every is set, and embedded.backup.recipients is empty: set it to the public key that `hub backup keygen` prints" }}
{{- end }}
{{- if and (not .embedded.backup.every) (or .embedded.backup.claim .embedded.backup.recipients (ne (int .embedded.backup.keep) 7)) }}
{{- fail "embedded.backup says where backups go, for whom or how many are kept, and not how often they are made: set embedded.backup.every, such as 6h" }}
{{- end }}
{{- else }}
{{- if or .embedded.advertiseHost .embedded.tlsSANs }}
{{- fail "embedded.advertiseHost or embedded.tlsSANs is set, and mode is external: set mode=embedded, or external.advertiseURL instead" }}
{{- end }}
{{- if or .embedded.backup.every .embedded.backup.claim .embedded.backup.recipients (ne (int .embedded.backup.keep) 7) }}
{{- fail "embedded.backup is set, and mode is external, whose API is not the hub's to back up: set mode=embedded, or unset it and back up the etcd of that API" }}
{{- end }}
{{- if or .embedded.storage.class (ne (toString .embedded.storage.size) "20Gi") }}
{{- fail "embedded.storage is set, and mode is external, whose API keeps everything: set mode=embedded, or unset it" }}
{{- end }}
{{- if or .embedded.service.annotations (ne .embedded.service.type "LoadBalancer") }}
{{- fail "embedded.service is set, and mode is external, in which members dial that API and not the hub: set mode=embedded, or unset it" }}
{{- end }}
{{- if and .external.connect.service (not .external.connect.enabled) }}
{{- fail "external.connect.service is set, and nothing is served there: set external.connect.enabled=true" }}
{{- end }}
{{- if not .external.advertiseURL }}
{{- fail "external.advertiseURL is empty: set it to the https://HOST:PORT under which members reach the API of the hub" }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
