{{/* Name of all objects. */}}
{{- define "hcloud-reactive-controller.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "hcloud-reactive-controller.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "hcloud-reactive-controller.selectorLabels" -}}
{{- tpl (toYaml .Values.selectorLabels) . -}}
{{- end -}}

{{- define "hcloud-reactive-controller.labels" -}}
{{ include "hcloud-reactive-controller.selectorLabels" . }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ tpl (toYaml .) $ }}
{{- end }}
{{- end -}}

{{/* Truth of a value that may come as text, as templates of other tools quote everything. */}}
{{- define "hcloud-reactive-controller.isTrue" -}}
{{- if has (toString .) (list "true" "True" "TRUE" "1" "t" "T") -}}true{{- end -}}
{{- end -}}

{{- define "hcloud-reactive-controller.networking" -}}
{{- include "hcloud-reactive-controller.isTrue" .Values.networking.enabled -}}
{{- end -}}

{{- define "hcloud-reactive-controller.hostNetwork" -}}
{{- if kindIs "invalid" .Values.hostNetwork -}}
{{- include "hcloud-reactive-controller.networking" . -}}
{{- else -}}
{{- include "hcloud-reactive-controller.isTrue" .Values.hostNetwork -}}
{{- end -}}
{{- end -}}

{{/* The port of health checks: that of the flag where it is given. */}}
{{- define "hcloud-reactive-controller.healthPort" -}}
{{- default .Values.healthPort (index .Values.args "secure-port") -}}
{{- end -}}

{{/* Flags, sorted by name, each one string. What the user gives comes last where the chart gives the same. */}}
{{- define "hcloud-reactive-controller.args" -}}
{{- $args := dict "leader-elect" "true" "secure-port" (include "hcloud-reactive-controller.healthPort" .) -}}
{{- if include "hcloud-reactive-controller.networking" . -}}
{{- $_ := set $args "allocate-node-cidrs" "true" -}}
{{- $_ := set $args "cluster-cidr" .Values.networking.clusterCIDR -}}
{{- end -}}
{{- range $name, $value := .Values.args -}}
{{- if not (kindIs "invalid" $value) -}}{{- $_ := set $args $name $value -}}{{- end -}}
{{- end -}}
{{- range $name := keys $args | sortAlpha }}
{{- $value := toString (index $args $name) }}
- {{ if eq $value "" }}{{ printf "--%s" $name | quote }}{{ else }}{{ printf "--%s=%s" $name $value | quote }}{{ end }}
{{- end }}
{{- end -}}

{{- define "hcloud-reactive-controller.env" -}}
{{- range $name := keys .Values.env | sortAlpha }}
{{- $value := index $.Values.env $name }}
{{- if kindIs "map" $value }}
{{- if or (hasKey $value "valueFrom") (not (kindIs "invalid" $value.value)) }}
- name: {{ $name }}
  {{- tpl (toYaml $value) $ | nindent 2 }}
{{- end }}
{{- else if not (kindIs "invalid" $value) }}
- name: {{ $name }}
  value: {{ tpl (toString $value) $ | quote }}
{{- end }}
{{- end }}
{{- if include "hcloud-reactive-controller.networking" . }}
- name: HCLOUD_NETWORK
  {{- tpl (toYaml .Values.networking.network) . | nindent 2 }}
{{- end }}
{{- if not (include "hcloud-reactive-controller.isTrue" .Values.monitoring.enabled) }}
- name: HCLOUD_METRICS_ENABLED
  value: "false"
{{- end }}
{{- if include "hcloud-reactive-controller.isTrue" .Values.robot.enabled }}
- name: ROBOT_ENABLED
  value: "true"
{{- end }}
- name: HCLOUD_LOG_LEVEL
  value: {{ .Values.logLevel | quote }}
{{- end -}}

{{- define "hcloud-reactive-controller.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ tpl .Values.image.tag . }}
{{- end -}}
{{- end -}}

{{- define "hcloud-reactive-controller.probe" -}}
{{- $probe := index . 1 -}}
httpGet:
  path: {{ index . 2 }}
  port: {{ include "hcloud-reactive-controller.healthPort" (index . 0) }}
  scheme: HTTPS
{{ toYaml $probe }}
{{- end -}}
