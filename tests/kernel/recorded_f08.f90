! A ring in Fortran 2008: names and types of its own.
program recorded_f08
  use mpi_f08
  implicit none
  integer :: rank, n, k
  double precision :: values(100), sums(100)
  type(MPI_Request) :: requests(2)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  values = rank
  do k = 1, 5
    call MPI_Irecv(sums, 100, MPI_DOUBLE_PRECISION, mod(rank + n - 1, n), 0, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(values, 100, MPI_DOUBLE_PRECISION, mod(rank + 1, n), 0, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_Allreduce(MPI_IN_PLACE, values, 10, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  end do
  call MPI_Finalize()
end program
