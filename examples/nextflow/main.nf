// Runs a job file of gpugraph as a process of a Nextflow pipeline, and carries on where an attempt was cut off:
//
//     nextflow run examples/nextflow/main.nf --job my.toml
//
// gpugraph exits with 75 when it was told to stop: its work is saved, and the next attempt carries on. Other codes end the pipeline.
// A task runs in a folder of its own, so paths in the job file must be absolute.

params.job = "$projectDir/../../configs/triangle.toml"
// It lasts from attempt to attempt, because it is outside of the task's folder: each attempt has a new one.
params.work = "$launchDir/gpugraph.work/nextflow"
params.gpugraph = 'gpugraph'
params.minutes = 240

process gpugraph {
    cpus 8
    time "${params.minutes} min"
    errorStrategy { task.exitStatus == 75 ? 'retry' : 'terminate' }
    maxRetries 50
    publishDir "$launchDir/results", mode: 'copy'

    input:
    path job
    val work

    output:
    path 'report.json'

    script:
    // The attempt saves two minutes before its time is over.
    """
    timeout --preserve-status --signal=USR1 ${Math.max(params.minutes * 60 - 120, params.minutes * 30)} \
        ${params.gpugraph} run '${job}' --set job.workdir='${work}' --set limits.threads=${task.cpus}
    cp '${work}/report.json' report.json
    """
}

workflow {
    gpugraph(Channel.fromPath(params.job, checkIfExists: true), params.work)
}
