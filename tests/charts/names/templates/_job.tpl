{{- /* Plain on install and a hook on upgrade: a flip, if the name is the same. */}}
{{- define "names.job" }}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ . }}
{{- end }}
{{- define "names.hook" }}
{{- if .Release.IsUpgrade }}
  annotations:
    helm.sh/hook: post-install,pre-upgrade
{{- end }}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: registry.example/orders}]
{{- end }}
