{{/* Name of all objects. */}}
{{- define "hcloud-reactive-controller.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* What values files that were copied from the peer's chart include in selectorLabels. */}}
{{- define "hcloud-cloud-controller-manager.name" -}}
{{- include "hcloud-reactive-controller.name" . -}}
{{- end -}}

{{- define "hcloud-reactive-controller.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "hcloud-reactive-controller.selectorLabels" -}}
{{- tpl (toYaml .Values.selectorLabels) . -}}
{{- end -}}

{{/* Labels of an object: (list context further-labels). The later ones win: no key is there twice. */}}
{{- define "hcloud-reactive-controller.labelsWith" -}}
{{- $ := index . 0 -}}
{{- $labels := dict
  "helm.sh/chart" (printf "%s-%s" $.Chart.Name $.Chart.Version | replace "+" "_")
  "app.kubernetes.io/version" $.Chart.AppVersion
  "app.kubernetes.io/managed-by" $.Release.Service -}}
{{- range list $.Values.commonLabels (index . 1) $.Values.selectorLabels -}}
{{- with . -}}{{- $labels = mustMergeOverwrite $labels (tpl (toYaml .) $ | fromYaml) -}}{{- end -}}
{{- end -}}
{{- range $key, $value := $labels -}}
{{- $_ := set $labels $key (include "hcloud-reactive-controller.text" $value) -}}
{{- end -}}
{{- toYaml $labels -}}
{{- end -}}

{{- define "hcloud-reactive-controller.labels" -}}
{{- include "hcloud-reactive-controller.labelsWith" (list . dict) -}}
{{- end -}}

{{/* A value as text. Helm reads whole numbers as floating ones, and would write great ones as 1e+06. */}}
{{- define "hcloud-reactive-controller.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}{{- printf "%.0f" . -}}{{- else -}}{{- toString . -}}{{- end -}}
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

{{/* "true" where more than one pod can be there at a time that is not an update. */}}
{{- define "hcloud-reactive-controller.hasReplicas" -}}
{{- if and (eq .Values.kind "Deployment") (gt (int .Values.replicaCount) 1) -}}true{{- end -}}
{{- end -}}

{{/*
Flags, name to text, as YAML. What the user gives wins over what the chart gives, whether it comes as a map or as a list.
Two processes without election would both write: it is always on.
*/}}
{{- define "hcloud-reactive-controller.flags" -}}
{{- $flags := dict "secure-port" (include "hcloud-reactive-controller.text" .Values.healthPort) -}}
{{- if include "hcloud-reactive-controller.networking" . -}}
{{- $_ := set $flags "allocate-node-cidrs" "true" -}}
{{- $_ := set $flags "cluster-cidr" .Values.networking.clusterCIDR -}}
{{- end -}}
{{- if kindIs "slice" .Values.args -}}
{{- range .Values.args -}}
{{- $name := regexReplaceAll "^--?([^=]*).*$" . "${1}" -}}
{{- $_ := set $flags $name (ternary (regexReplaceAll "^[^=]*=" . "") "" (contains "=" .)) -}}
{{- end -}}
{{- else -}}
{{- range $name, $value := .Values.args -}}
{{- if not (kindIs "invalid" $value) -}}
{{- $_ := set $flags $name (include "hcloud-reactive-controller.text" $value) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not (hasKey $flags "cloud-provider") -}}{{- $_ := set $flags "cloud-provider" "hcloud" -}}{{- end -}}
{{- $_ := set $flags "leader-elect" "true" -}}
{{- toYaml $flags -}}
{{- end -}}

{{/* Flags as arguments, sorted by name, each one string. */}}
{{- define "hcloud-reactive-controller.args" -}}
{{- $flags := include "hcloud-reactive-controller.flags" . | fromYaml -}}
{{- range $name := keys $flags | sortAlpha }}
{{- $value := index $flags $name }}
- {{ if eq $value "" }}{{ printf "--%s" $name | quote }}{{ else }}{{ printf "--%s=%s" $name $value | quote }}{{ end }}
{{- end }}
{{- end -}}

{{/* The port of health checks: that of the flag. "0" for none. */}}
{{- define "hcloud-reactive-controller.healthPort" -}}
{{- index (include "hcloud-reactive-controller.flags" . | fromYaml) "secure-port" -}}
{{- end -}}

{{/* Value of a variable, as the user or the chart sets it; empty where it comes from elsewhere. */}}
{{- define "hcloud-reactive-controller.variable" -}}
{{- $context := index . 0 -}}
{{- range (include "hcloud-reactive-controller.env" $context | fromYamlArray) -}}
{{- if eq .name (index $ 1) -}}{{- default "" .value -}}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "hcloud-reactive-controller.metrics" -}}
{{- $enabled := include "hcloud-reactive-controller.variable" (list . "HCLOUD_METRICS_ENABLED") -}}
{{- if or (eq $enabled "") (include "hcloud-reactive-controller.isTrue" $enabled) -}}true{{- end -}}
{{- end -}}

{{- define "hcloud-reactive-controller.metricsPort" -}}
{{- $address := include "hcloud-reactive-controller.variable" (list . "HCLOUD_METRICS_ADDRESS") -}}
{{- default "8233" (regexFind "[0-9]+$" $address) -}}
{{- end -}}

{{/*
One variable: (list context name value). The value may be text, a number, an object with value or valueFrom, or null,
which leaves it out. Where it has both, valueFrom is the default that is left from merging: value wins.
*/}}
{{- define "hcloud-reactive-controller.envItem" -}}
{{- $ := index . 0 -}}
{{- $value := index . 2 -}}
{{- $source := dict -}}
{{- if kindIs "map" $value }}{{ $source = default dict $value.valueFrom }}{{ $value = $value.value }}{{ end }}
{{- if not (kindIs "invalid" $value) }}
- name: {{ index . 1 }}
  value: {{ tpl (include "hcloud-reactive-controller.text" $value) $ | quote }}
{{- else if $source }}
- name: {{ index . 1 }}
  valueFrom:
    {{- tpl (toYaml $source) $ | nindent 4 }}
{{- end }}
{{- end -}}

{{/* Variables about several networks, name to text, as YAML; of the values below "networking", those that are set. */}}
{{- define "hcloud-reactive-controller.networks" -}}
{{- $workers := default dict .workerNetworks -}}
{{- $ipam := default dict .nodeIPAM -}}
{{- $ranges := list -}}
{{- range $network, $cidr := .podCIDRs }}{{ $ranges = append $ranges (printf "%s=%s" $network $cidr) }}{{ end -}}
{{- $gateways := list -}}
{{- range $network, $neighbours := .gateways -}}
{{- range $neighbour, $address := $neighbours }}{{ $gateways = append $gateways (printf "%s/%s=%s" $network $neighbour $address) }}{{ end -}}
{{- end -}}
{{- $variables := dict
  "HCLOUD_CONTROL_PLANE_NETWORK" (include "hcloud-reactive-controller.text" (default "" .controlPlaneNetwork))
  "HCLOUD_WORKER_NETWORK_REGEX" (default "" $workers.regex)
  "HCLOUD_WORKER_NETWORK_PREFIX" (default "" $workers.prefix)
  "HCLOUD_NETWORK_POD_CIDRS" (join "," $ranges)
  "HCLOUD_NETWORK_GATEWAYS" (join "," $gateways)
  "HCLOUD_NODE_IPAM" (ternary "true" "" (eq "true" (include "hcloud-reactive-controller.isTrue" $ipam.enabled)))
  "HCLOUD_NODE_CIDR_MASK_SIZE" (include "hcloud-reactive-controller.text" (default "" $ipam.maskSize))
  "HCLOUD_LOAD_BALANCER_NETWORK" (include "hcloud-reactive-controller.text" (default "" .loadBalancerNetwork))
  "HCLOUD_NETWORK_ROUTES_ENABLED" (ternary "" "false" (eq "true" (include "hcloud-reactive-controller.isTrue" .routesEnabled)))
  "HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK" (ternary "" "true" (eq "true" (include "hcloud-reactive-controller.isTrue" .attachedCheck))) -}}
{{- range $name := keys $variables -}}
{{- if not (index $variables $name) }}{{ $_ := unset $variables $name }}{{ end -}}
{{- end -}}
{{- toYaml $variables -}}
{{- end -}}

{{/* The variables. Those of the user first; the chart adds what is not there. */}}
{{- define "hcloud-reactive-controller.env" -}}
{{- range $name := keys .Values.env | sortAlpha }}
{{- include "hcloud-reactive-controller.envItem" (list $ $name (index $.Values.env $name)) }}
{{- end }}
{{- $own := dict "HCLOUD_LOG_LEVEL" .Values.logLevel -}}
{{- if include "hcloud-reactive-controller.networking" . }}
{{- $_ := set $own "HCLOUD_NETWORK" .Values.networking.network }}
{{- $own = merge $own (include "hcloud-reactive-controller.networks" .Values.networking | fromYaml) }}
{{- end }}
{{- with .Values.nodeLabelSelector }}{{ $_ := set $own "HCLOUD_SERVER_LABEL_SELECTOR" . }}{{ end }}
{{- if not (include "hcloud-reactive-controller.isTrue" .Values.monitoring.enabled) }}{{ $_ := set $own "HCLOUD_METRICS_ENABLED" "false" }}{{ end }}
{{- if include "hcloud-reactive-controller.isTrue" .Values.robot.enabled }}{{ $_ := set $own "ROBOT_ENABLED" "true" }}{{ end }}
{{- range $name := keys $own | sortAlpha }}
{{- $given := index $.Values.env $name }}
{{- if or (not (hasKey $.Values.env $name)) (and (kindIs "map" $given) (not $given.valueFrom) (kindIs "invalid" $given.value)) }}
{{- include "hcloud-reactive-controller.envItem" (list $ $name (index $own $name)) }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "hcloud-reactive-controller.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ tpl .Values.image.tag . }}
{{- end -}}
{{- end -}}

{{/* A probe: (list context probe path). It goes to the address the listener is bound to, where that is one. */}}
{{- define "hcloud-reactive-controller.probe" -}}
{{- $context := index . 0 -}}
{{- $address := index (include "hcloud-reactive-controller.flags" $context | fromYaml) "bind-address" -}}
httpGet:
  path: {{ index . 2 }}
  port: {{ include "hcloud-reactive-controller.healthPort" $context }}
  scheme: HTTPS
  {{- if and $address (not (has $address (list "0.0.0.0" "::"))) }}
  host: {{ $address | quote }}
  {{- end }}
{{ toYaml (index . 1) }}
{{- end -}}

{{/* "true" where the cluster has the kinds of the Prometheus operator. */}}
{{- define "hcloud-reactive-controller.hasMonitoringAPI" -}}
{{- if .Capabilities.APIVersions.Has "monitoring.coreos.com/v1" -}}true{{- end -}}
{{- end -}}

{{/* Names of the wished monitoring objects that the cluster has no kind for. */}}
{{- define "hcloud-reactive-controller.missingKinds" -}}
{{- if not (include "hcloud-reactive-controller.hasMonitoringAPI" .) -}}
{{- $missing := list -}}
{{- range $key := list "podMonitor" "serviceMonitor" "prometheusRule" -}}
{{- if include "hcloud-reactive-controller.isTrue" (index $.Values.monitoring $key).enabled -}}
{{- $missing = append $missing $key -}}
{{- end -}}
{{- end -}}
{{- join ", " $missing -}}
{{- end -}}
{{- end -}}

{{/* metadata of a namespaced object: (list context name values-with-labels-and-annotations). */}}
{{- define "hcloud-reactive-controller.metadata" -}}
{{- $context := index . 0 -}}
{{- $values := index . 2 -}}
name: {{ index . 1 }}
namespace: {{ include "hcloud-reactive-controller.namespace" $context }}
labels:
  {{- include "hcloud-reactive-controller.labelsWith" (list $context $values.labels) | nindent 2 }}
{{- with $values.annotations }}
annotations:
  {{- tpl (toYaml .) $context | nindent 2 }}
{{- end }}
{{- end -}}
